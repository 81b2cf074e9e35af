"""`bl retry`: fetch again what is missing, changed or failed in a directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, exits, options
from benchloop_client.cli.exits import Exit
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import destination, layout
    from benchloop_client.actions import retry as actions
    from benchloop_client.actions.report import Report
else:
    actions = lazy("benchloop_client.actions.retry")
    destination = lazy("benchloop_client.actions.destination")
    layout = lazy("benchloop_client.actions.layout")


@click.command(name="retry", cls=options.Leaf, example="bl retry data")
@options.directory_argument()
@ask.with_session
def command(session: Session, *, directory: str) -> int:
    """Fetch again what is missing, changed or failed in DIR.

    Looks at DIR as `bl verify` does and fetches only what is missing, changed, failed, incomplete or a placeholder, each from where the
    journal says that it came. Whatever else is there stays as it is.

    Exits 0 when all of it came, or nothing was wrong; 2 if DIR was downloaded from another server and --host is not given.
    """
    root = Path(directory).expanduser()
    found = actions.look(root)
    if found.host and found.host != session.settings.host and not session.given.get("host"):
        raise click.UsageError(
            f"{root} was downloaded from {found.host}, not from {session.settings.host}: name the one you mean with --host"
        )
    for run in found.unfinished:
        session.output.note(f"`{run}` was cut short here: the same command goes on with it")
    report = _fetched(session, root, found)
    session.end_progress()
    return exits.of_report(report, session) if report is not None else Exit.DONE


def _fetched(session: Session, root: Path, found: actions.Found) -> Report | None:
    """Both layouts of JSON one after the other; None if there was nothing to do."""
    reports = []
    for compact in (False, True):
        bad = [entry for entry in found.bad if actions.is_compact(entry) is compact]
        if not bad:
            continue
        of = layout.Layout(pretty=not compact)
        with destination.Destination(root, layout=of, fsync=bool(session.given.get("fsync")), host=session.settings.host) as target:
            reports.append(actions.again(ask.job(session), bad, target))
    if not reports:
        session.output.note(f"nothing to fetch again in {root}")
        return None
    return reports[0].of_all(reports, what="file(s)")
