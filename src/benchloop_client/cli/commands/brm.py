"""`bl brm`: which behaviour goes with reward, as tasks that a server works off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, ids, options, waits
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import behaviour as actions
else:
    actions = lazy("benchloop_client.actions.behaviour")

_NO_GROUP = "at least one -g/--group is required"
_NO_TASK = "at least one --task-id is required"
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
@options.print_options()
@ask.with_session
def get(session: Session, *, tasks: tuple[str, ...], scope: str) -> int:
    """Print one JSON array, an object a task: its state, what it found, or all of it."""
    return _show(session, tasks, scope)


@command.command(cls=options.Leaf, example="bl brm status --task-id brm-1 | jq -r '.[0].status'")
@_tasks
@options.print_options()
@ask.with_session
def status(session: Session, *, tasks: tuple[str, ...]) -> int:
    """Print one JSON array, the state of each task; as `get --scope status`."""
    return _show(session, tasks, "status")


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
    typed = ids.parse(tasks, "task id", stdin=session.env.stdin, say=session.output.note, missing=_NO_TASK)
    wanted = tuple(ids.task_id(task) for task in typed)
    work = ask.job(session)
    return ask.print_array(session, wanted, lambda task, layout: actions.element(work, task, scope=scope, layout=layout))


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
