"""`bl brm`: which behaviour goes with reward, as tasks that a server works off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, exits, ids, options, waits
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import behaviour as actions
    from benchloop_client.actions import gather
    from benchloop_client.actions import layout as layouts
    from benchloop_client.cli import behaviour_table, tty
else:
    actions = lazy("benchloop_client.actions.behaviour")
    behaviour_table = lazy("benchloop_client.cli.behaviour_table")
    gather = lazy("benchloop_client.actions.gather")
    layouts = lazy("benchloop_client.actions.layout")
    tty = lazy("benchloop_client.cli.tty")

_NO_GROUP = "at least one -g/--group is required"
_NO_TASK = "at least one --task-id is required"
_PIPE_WIDTH = 120
#: The documented defaults. They stand in the contract too, which help is not to load.
SAMPLE_SIZE, SCORING_LIMIT = 512, 32

_tasks = click.option(
    "--task-id", "tasks", multiple=True, metavar="UID", help="Task, as `brm run` printed it (repeatable, comma list, '-', '@FILE')."
)
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


@click.group(name="brm", cls=options.Resource)
def command() -> None:
    """Behaviour tasks: which behaviour goes with reward."""


@command.command(cls=options.Leaf, example="bl brm run -g G1 --steps 100,200 --wait")
@click.option("-g", "--group", "groups", multiple=True, metavar="ID", help="The group; exactly one.")
@click.option(
    "--steps",
    multiple=True,
    metavar="N",
    help="Training steps to look at, 1 to 20 of them; needed where the group has steps (repeatable, comma list).",
)
@click.option("--sample-size", type=int, metavar="N", default=SAMPLE_SIZE, show_default=True, help="Jobs drawn from each step.")
@click.option("--scoring-limit", type=int, metavar="N", default=SCORING_LIMIT, show_default=True, help="Patterns wanted.")
@waits.wait_options
@options.print_options()
@ask.with_session
def run(
    session: Session, *, groups: tuple[str, ...], steps: tuple[str, ...], sample_size: int, scoring_limit: int, wait: float | None
) -> int:
    """Start a task for one group, and print one JSON array with it."""
    if "-" in groups and "-" in steps:
        raise click.BadParameter("'-' reads stdin: it can stand for the group or for the steps, not for both")
    numbers = _steps(session, steps)
    wanted = ids.parse(groups, "group id", stdin=session.env.stdin, say=session.output.note, missing=_NO_GROUP)
    if len(wanted) > 1:
        raise click.BadParameter(f"brm run takes exactly one -g/--group, not {len(wanted)}")
    wish = actions.Wish(wanted[0], numbers, sample_size, scoring_limit)
    return ask.print_values(session, *actions.run(ask.job(session), wish, patience=waits.patience(wait)))


@command.command(cls=options.Leaf, example="bl brm get --task-id brm-1 --scope detail")
@_tasks
@options.scope_option("overall", "detail", "status", of="what is known")
@options.print_options(default="table on a terminal, else json")
@ask.with_session
def get(session: Session, *, tasks: tuple[str, ...], scope: str) -> int:
    """What a task found: a table and a summary on a terminal, else one JSON array.

    The array has an object a task: its state, what it found, or all of it. In the table, "within the task" is the difference in reward
    between attempts at the same task that differ in the behaviour; "pooled" beside it is what a comparison of all jobs would say.
    """
    session.given.setdefault("format", "table" if session.on_terminal else "json")
    style = session.style
    if style.name != "table" or style.fields or scope == "status":
        return _show(session, tasks, scope)
    wanted, work = _wanted(session, tasks), ask.job(session)
    with gather.Gathered(work) as gathered:
        compact = layouts.Layout(pretty=False)
        report = gathered.collect(wanted, lambda task, layout: actions.found(work, task, layout=layout), layout=compact)
        session.end_progress()
        width = tty.columns_of(session.env.stdout, _PIPE_WIDTH) if session.on_terminal else _PIPE_WIDTH
        with session.output.flushed():
            for line in gathered.lines():
                for chunk in behaviour_table.render_line(line, width=width, colour=session.colour):
                    session.output.data(chunk)
    return exits.of_report(report, session)


@command.command(cls=options.Leaf, example="bl brm status --task-id brm-1 | jq -r '.[0].status'")
@_tasks
@options.print_options()
@ask.with_session
def status(session: Session, *, tasks: tuple[str, ...]) -> int:
    """Print one JSON array, the state of each task; as `get --scope status`."""
    return _show(session, tasks, "status")


@command.command(cls=options.Leaf, example="bl brm cancel --task-id brm-1")
@_tasks
@options.print_options()
@ask.with_session
def cancel(session: Session, *, tasks: tuple[str, ...]) -> int:
    """End tasks that have not ended, and print one JSON array, the state of each.

    A task that has ended stays as it is: cancelling twice is no error. The same wish may be asked for again.
    """
    wanted, work = _wanted(session, tasks), ask.job(session)
    return ask.print_array(session, wanted, lambda task, layout: actions.cancel_element(work, task, layout=layout))


@command.command(name="list", cls=options.Leaf, example="bl brm list -g G1 | jq -r '.[0].tasks[].uid'")
@options.group_option()
@options.print_options()
@ask.with_session
def list_(session: Session, *, groups: tuple[str, ...]) -> int:
    """Print one JSON array, an object a group with its tasks."""
    wanted = ids.parse(groups, "group id", stdin=session.env.stdin, say=session.output.note, missing=_NO_GROUP)
    work = ask.job(session)
    return ask.print_array(
        session,
        wanted,
        lambda group, layout: actions.list_element(work, group, layout=layout),
        rows=lambda group, layout: actions.list_rows(work, group, layout=layout),
    )


def _show(session: Session, tasks: tuple[str, ...], scope: str) -> int:
    wanted, work = _wanted(session, tasks), ask.job(session)
    return ask.print_array(session, wanted, lambda task, layout: actions.element(work, task, scope=scope, layout=layout))


def _wanted(session: Session, tasks: tuple[str, ...]) -> tuple[str, ...]:
    typed = ids.parse(tasks, "task id", stdin=session.env.stdin, say=session.output.note, missing=_NO_TASK)
    return tuple(ids.task_id(task) for task in typed)


def _steps(session: Session, values: tuple[str, ...]) -> tuple[int, ...]:
    """The numbers typed, in order. Raises `click.BadParameter` for what is no number, and for one that is spelled in two ways."""
    typed = ids.parse(values, "step", stdin=session.env.stdin, say=session.output.note, missing=None)
    numbers: list[int] = []
    for text in typed:
        if not _NUMBER.fullmatch(text):
            raise click.BadParameter(f"--steps takes whole numbers, not {text!r}")
        numbers.append(int(text))
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    if twice:
        raise click.BadParameter(f"--steps names {', '.join(map(str, twice))} twice")
    return tuple(numbers)
