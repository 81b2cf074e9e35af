"""`bl verify`: is everything that was downloaded into a directory still as it was?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.exits import Exit
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import verify as actions
else:
    actions = lazy("benchloop_client.actions.verify")


@click.command(name="verify", cls=options.Leaf, example="bl verify data --format jsonl | jq -r 'select(.state != \"ok\").path'")
@options.directory_argument()
@options.print_options(default="table on a terminal, else json")
@ask.with_session
def command(session: Session, *, directory: str) -> int:
    """Is what was downloaded into DIR still whole?

    Reads every file again that the journal in DIR promises, and prints a row each: ok, changed, missing, failed (it never came),
    incomplete (a ZIP that lacks jobs), placeholder (the server had no archive), not promised (a file that no download wrote). A table on a
    terminal, else one JSON array. Asks no server and changes nothing.

    Exits 1 if a file is changed, missing, failed or incomplete.
    """
    if session.on_terminal and not session.given.get("format"):
        session.given["format"] = "table"
    tally: Counter[str] = Counter()
    ask.print_values(session, _rows(Path(directory).expanduser(), tally))
    session.output.note(f"{tally.total()} file(s): " + ", ".join(f"{count} {state}" for state, count in tally.most_common()))
    return Exit.FAILED if any(tally[state] for state in actions.BAD) else Exit.DONE


def _rows(root: Path, tally: Counter[str]) -> Iterator[dict[str, Any]]:
    for found in actions.examine(root):
        tally[found.state] += 1
        yield found.as_json()
