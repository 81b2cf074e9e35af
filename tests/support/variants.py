"""`bl` with a fault put into it, where no published client shows the fault: `python -m tests.support.variants` proves that the tests bite.

Each variant is our own program with one function exchanged; a test named with it must fail there, and does not on the program as it is.
"""

from __future__ import annotations

import fnmatch
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchloop_client._calls import Call
from benchloop_client.actions import artifact_lists, trajectory
from benchloop_client.cli import main
from benchloop_client.cli.commands import report
from benchloop_client.client import Client

_ROOT = Path(__file__).resolve().parents[2]


def _media_where_a_trajectory_says(exchange: Callable[..., None]) -> None:
    """A9: a name out of a trajectory becomes a part of an address."""

    def media_stream(self: Client, oss_uri: str, mime_type: str | None = None) -> Any:
        address = oss_uri if "://" in oss_uri or oss_uri.startswith("/") else f"/openapi/getTrajV2/mediaFile?ossUri={oss_uri}"
        return self._http.open(Call("GET", address))

    exchange(Client, media_stream=media_stream)


def _waits_for_an_export(exchange: Callable[..., None]) -> None:
    """B9: an export is waited for that is not needed, and a failed one counts as not ready."""
    download = trajectory.download_groups

    def patient(work: Any, groups: Any, *rest: Any, **more: Any) -> Any:
        for group in groups:
            while work.client._http.json(Call("GET", f"/openapi/groups/{group}/trace-trajectory/download"))["status"] != "succeeded":
                work.client.cancel.wait(15)
        return download(work, groups, *rest, **more)

    exchange(trajectory, download_groups=patient)


def _globs_without_case(exchange: Callable[..., None]) -> None:
    """D9: what a glob means depends on the system."""
    exchange(artifact_lists, fnmatchcase=lambda name, pattern: fnmatch.fnmatchcase(name.lower(), pattern.lower()))


def _command_nobody_tells(_exchange: Callable[..., None]) -> None:
    """D14: a command that no document knows."""
    report.command.add_command(click.Command("retrigger", help="Once more."))


@dataclass(frozen=True, slots=True)
class Variant:
    """How the fault is put in, and the tests that must fail with it."""

    plant: Callable[[Callable[..., None]], None]
    tests: tuple[str, ...]


VARIANTS: Mapping[str, Variant] = {
    "A9": Variant(_media_where_a_trajectory_says, ("test_weaknesses_input.py", "-k", "a9")),
    "B9": Variant(_waits_for_an_export, ("test_weaknesses_input.py", "-k", "b9_nobody_waits")),
    "D9": Variant(_globs_without_case, ("test_weaknesses_commands.py", "-k", "d9")),
    "D14": Variant(_command_nobody_tells, ("test_weaknesses_outside.py", "-k", "d14")),
}


def run(name: str) -> None:
    """Be the variant: the command line of this process, on our program with the fault."""

    def exchange(owner: Any, **names: Any) -> None:
        for attribute, value in names.items():
            setattr(owner, attribute, value)

    VARIANTS[name].plant(exchange)
    main.entry()


def failing(name: str) -> tuple[int, int]:
    """How many of a variant's tests fail on it, of how many."""
    variant = VARIANTS[name]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "bl"
        program.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(_ROOT)!r})\nfrom tests.support.variants import run\nrun({name!r})\n"
        )
        program.chmod(0o755)
        file, *which = variant.tests
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rpfE", "--timeout", "120"]
        done = subprocess.run(
            [*command, str(_ROOT / "tests" / "e2e" / file), *which],
            cwd=_ROOT,
            env={**os.environ, "BENCHLOOP_TEST_BL": str(program)},
            capture_output=True,
            text=True,
            timeout=900,
        )
    lines = [line.split(" ")[0] for line in done.stdout.splitlines()]
    passed, failed = lines.count("PASSED"), lines.count("FAILED") + lines.count("ERROR")
    return failed, passed + failed


if __name__ == "__main__":
    sys.stdout.write("| fault | put in | tests | fail |\n|---|---|---|---|\n")
    for _name in sys.argv[1:] or VARIANTS:
        _bad, _all = failing(_name)
        _what = (VARIANTS[_name].plant.__doc__ or "").partition(": ")[2].rstrip(".")
        sys.stdout.write(f"| {_name} | {_what} | {_all} | {_bad} |\n")
        sys.stdout.flush()
