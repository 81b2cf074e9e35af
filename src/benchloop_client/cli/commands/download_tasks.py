"""`bl download-tasks`: freeze the jobs that match a filter, to download them later as one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, ids, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import download_tasks as actions
else:
    actions = lazy("benchloop_client.actions.download_tasks")


@click.group(name="download-tasks", cls=options.Resource)
def command() -> None:
    """Frozen job lists to download from."""


@command.command(cls=options.Leaf, example="bl download-tasks create -g G1 --outcome failed | jq -r '.[0].task_id'")
@options.group_option()
@options.job_filter_options()
@click.option("--outcome", metavar="TEXT", help="Only jobs with this outcome: passed, partial, failed, errored or ungraded.")
@click.option("--task", "task_id", metavar="ID", help="Only attempts at this task.")
@click.option("--model", metavar="TEXT", help="Only jobs of this model.")
@click.option("--agent", metavar="TEXT", help="Only jobs of this agent.")
@click.option("--step", type=int, metavar="N", help="Only jobs of this training step.")
@click.option("--error-type", metavar="TEXT", help="Only jobs that ended with this error.")
@options.print_options()
@ask.with_session
def create(session: Session, *, groups: tuple[str, ...], filters: dict[str, Any], **more: Any) -> int:
    """Print one JSON array with the task of each group."""
    wanted = ask.groups_only(session, "download-tasks", groups, ())
    work = ask.job(session)
    return ask.print_array(
        session, wanted, lambda group, layout: actions.created_element(work, group, filters=filters | more, layout=layout)
    )


@command.command(cls=options.Leaf, example="bl download-tasks get T1")
@click.argument("task")
@options.print_options()
@ask.with_session
def get(session: Session, *, task: str) -> int:
    """Print one JSON array with the task and its job ids."""
    work = ask.job(session)
    return ask.print_array(session, (ids.task_id(task),), lambda name, layout: actions.element(work, name, layout=layout))
