"""The entry point of `bl` and `bmcli`: answers `--version` on its own, and hands everything else to the command tree."""

from __future__ import annotations

import gc
import importlib
import os
import sys

from benchloop_client.contract.version import __version__


def entry() -> None:
    """What the installed `bl` and `bmcli` run: the command line of this process, then its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """Run one command line and return its exit code. `--version` costs no import beyond this file."""
    if argv == ["--version"]:
        _say(f"bmcli {__version__}\n")
        return 0
    # What these imports make lives to the end: the collector need not walk it, now or when the process ends.
    gc.disable()
    app = importlib.import_module("benchloop_client.cli.app")
    gc.freeze()
    gc.enable()
    code: int = app.run(argv)
    return code


def _say(text: str) -> None:
    """Write to stdout, if there is one and somebody reads it."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
