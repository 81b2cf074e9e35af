"""What the command files share: who is asked about, the array that a `get` prints, and the end of a run."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchloop_client.cli import exits, ids
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.options import Save
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import destination, gather, rehearsal, selection, work
    from benchloop_client.actions import layout as layouts
    from benchloop_client.actions.layout import Layout
    from benchloop_client.actions.report import Report
    from benchloop_client.cli import formats, progress, tty
else:
    destination = lazy("benchloop_client.actions.destination")
    gather = lazy("benchloop_client.actions.gather")
    rehearsal = lazy("benchloop_client.actions.rehearsal")
    layouts = lazy("benchloop_client.actions.layout")
    formats = lazy("benchloop_client.cli.formats")
    progress = lazy("benchloop_client.cli.progress")
    tty = lazy("benchloop_client.cli.tty")
    work = lazy("benchloop_client.actions.work")

#: The text of one id's element in a layout.
Element = Callable[[str, "Layout"], Iterable[bytes]]


def with_session(function: Callable[..., int]) -> Callable[..., int]:
    """Hand the running session to a command as its first argument."""

    @wraps(function)
    def command(*args: object, **values: object) -> int:
        session = click.get_current_context().find_object(Session)
        assert session is not None
        return function(session, *args, **values)

    return command


def targets(session: Session, groups: Iterable[str], jobs: Iterable[str], *, task: str | None = None) -> ids.Targets:
    """The ids of a command that knows groups and jobs (and download tasks, with `task`)."""
    return ids.targets(groups, jobs, task=task, stdin=session.env.stdin, say=session.output.note)


def groups_only(session: Session, resource: str, groups: Iterable[str], jobs: Iterable[str]) -> tuple[str, ...]:
    """The ids of a command that knows groups only."""
    return ids.groups_only(resource, groups, jobs, stdin=session.env.stdin, say=session.output.note)


def job(session: Session) -> work.Work:
    """What an action needs: the client, who watches, and the layout of JSON."""
    return work.Work(session.client, watch=session.watch, layout=session.layout)


def job_on(session: Session, wanted: ids.Targets, select: selection.Selection) -> work.Work:
    """As `job`, on the selected jobs of groups and download tasks. Raises `click.BadParameter` for a selection among named jobs."""
    if select and wanted.jobs:
        raise click.BadParameter("--status, --outcome, --task, --step, --fail-reason and --sample choose among the jobs of a group: use -g")
    return work.Work(session.client, watch=session.watch, layout=session.layout, selection=select)


def print_array(
    session: Session, wanted: Sequence[str], element: Element, *, rows: Element | None = None, columns: tuple[str, ...] = ()
) -> int:
    """Print one JSON array, an element an id in the order asked for, after all of them are there; list failures; return the exit code.

    The other formats have an element a line, or of a list a line for each of its `rows` (each with its line end). `columns`: what a table
    shows where nobody asks for fields.
    """
    style = dataclasses.replace(session.style, columns=columns)
    with gather.Gathered(job(session)) as gathered:
        if style.name == "json":
            report = gathered.collect(wanted, element)
            _print(session, gathered.array())
        else:
            report = gathered.collect(wanted, rows or element, layout=layouts.Layout(pretty=False))
            _print(session, formats.rendered(style, gathered.lines, _screen(session)))
    return exits.of_report(report, session)


def print_values(session: Session, values: Iterable[object], report: Report | None = None) -> int:
    """Print plain values, as one JSON array or in the format asked for; return the exit code of `report`."""
    style = session.style
    if style.name == "json":
        _print(session, gather.array_of(values, session.layout))
    else:
        found = list(values)
        _print(session, formats.rendered(style, lambda: map(layouts.Layout(pretty=False).value, found), _screen(session)))
    return exits.of_report(report, session) if report is not None else exits.Exit.DONE


def save_files(session: Session, save: Save, wanted: Sequence[str], action: Callable[[destination.Destination], Report]) -> int:
    """Run an action that writes files; list failures; return the exit code. A run that breaks off is taken up again by the same command."""
    root = Path(save.output_dir).expanduser() if save.output_dir else session.settings.output_dir
    run = _name_of(session, wanted)
    if save.dry_run:
        plan = rehearsal.Rehearsal(root, layout=session.layout, run=run, skip_existing=save.skip_existing)
        return _rehearsed(session, plan, action)
    if session.given.get("format"):
        raise click.UsageError("--format is about what is printed: use it with --dry-run")
    with destination.Destination(
        root,
        layout=session.layout,
        run=run,
        skip_existing=save.skip_existing,
        fsync=bool(session.given.get("fsync")),
        host=session.settings.host,
    ) as target:
        report = action(target)
        if not report.broken_off:
            target.finish()
    session.end_progress()
    return exits.of_report(report, session)


def _rehearsed(session: Session, plan: rehearsal.Rehearsal, action: Callable[[destination.Destination], Report]) -> int:
    """Print what an action would do, a record a file, and a line with the total; return the exit code."""
    session.watch.rehearsing = True
    with plan:
        report = action(plan)
    code = print_values(session, [file.as_json() for file in plan.planned], report)
    fetched = [file.size for file in plan.planned if file.action == "fetch"]
    known = [size for size in fetched if size is not None]
    unknown = f", {len(fetched) - len(known)} of unknown size" if len(fetched) > len(known) else ""
    kept = len(plan.planned) - len(fetched)
    session.output.note(f"would fetch {len(fetched)} file(s), {progress.size(sum(known))}{unknown}; keep {kept}")
    return code


def _print(session: Session, chunks: Iterable[bytes]) -> None:
    session.end_progress()
    with session.output.flushed():
        for chunk in chunks:
            session.output.data(chunk)


def _screen(session: Session) -> formats.Screen:
    stdout = session.env.stdout
    width = tty.columns_of(stdout, 80) if tty.is_terminal(stdout) else None
    return formats.Screen(width, session.colour, session.output.note)


def _name_of(session: Session, wanted: Sequence[str]) -> str:
    """A name that only the same command with the same ids and options has."""
    ctx = click.get_current_context()
    said = sorted(
        (name, repr(value))
        for name, value in ctx.params.items()
        if name not in {"groups", "jobs", "output_dir", "skip_existing", "dry_run"}
    )
    digest = hashlib.sha256(repr((said, list(wanted), session.layout)).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{ctx.command_path} {digest[:16]}"
