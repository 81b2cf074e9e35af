"""The door of the program: goes on to the command line, or says what is missing where only the client was installed."""

from __future__ import annotations

import importlib
import sys


def entry() -> None:
    """The console script `benchloop-server`."""
    try:
        cli = importlib.import_module("benchloop_server.cli")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("benchloop"):
            raise
        sys.exit(
            f"benchloop-server: {error.name} is not installed; install this package again with its extra [server], "
            "as in `pip install '.[server]'`"
        )
    cli.entry()
