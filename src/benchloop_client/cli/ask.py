"""What the command files share: who is asked about, the array that a `get` prints, and the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING

import click

from benchloop_client.cli import exits, ids
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import gather, work
    from benchloop_client.actions.layout import Layout
    from benchloop_client.actions.report import Report
else:
    gather = lazy("benchloop_client.actions.gather")
    work = lazy("benchloop_client.actions.work")

#: Writes the element of one id in a layout; False when there is nothing to write.
Element = Callable[[str, IO[bytes], "Layout"], bool]

pass_session = click.make_pass_decorator(Session)


def targets(session: Session, groups: Iterable[str], jobs: Iterable[str], *, task: str | None = None) -> ids.Targets:
    """The ids of a command that knows groups and jobs (and download tasks, with `task`)."""
    return ids.targets(groups, jobs, task=task, stdin=session.env.stdin, say=session.output.note)


def groups_only(session: Session, resource: str, groups: Iterable[str], jobs: Iterable[str]) -> tuple[str, ...]:
    """The ids of a command that knows groups only."""
    return ids.groups_only(resource, groups, jobs, stdin=session.env.stdin, say=session.output.note)


def job(session: Session) -> work.Work:
    """What an action needs: the client, who watches, and the layout of JSON."""
    return work.Work(session.client, watch=session.watch, layout=session.layout)


def print_array(session: Session, wanted: Sequence[str], element: Element) -> int:
    """Print one JSON array, an element an id in the order asked for, after all of them are there; list failures; return the exit code."""
    context = job(session)
    with gather.Gathered(context) as gathered:
        report = gathered.collect(wanted, element)
        session.watch.close()
        with session.output.flushed():
            for chunk in gathered.array():
                session.output.data(chunk)
    return exits.of_report(report, session)


def print_values(session: Session, values: Iterable[object], report: Report | None = None) -> int:
    """Print one JSON array of plain values; return the exit code of `report`."""
    session.watch.close()
    with session.output.flushed():
        for chunk in gather.array_of(values, session.layout):
            session.output.data(chunk)
    return exits.of_report(report, session) if report is not None else exits.Exit.DONE


def finish(session: Session, report: Report) -> int:
    """The end of a command that writes files: list failures, return the exit code."""
    session.watch.close()
    return exits.of_report(report, session)
