"""`bl tasks`: the task list of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import tasks as actions
else:
    actions = lazy("benchloop_client.actions.tasks")


@click.group(name="tasks", cls=options.Resource)
def command() -> None:
    """Task list of groups."""


@command.command(cls=options.Leaf, example="bl tasks get -g G1 --all")
@options.group_option()
@options.job_option(hidden=True)
@options.page_options()
@options.task_filter_options()
@options.print_options()
@ask.with_session
def get(session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], pages: dict[str, Any], filters: dict[str, Any]) -> int:
    """Print one JSON array, an object a group: one page of its tasks, or all of them."""
    wanted = ask.groups_only(session, "tasks", groups, jobs)
    work = ask.job(session)
    query = actions.Query(**pages, filters=filters)
    return ask.print_array(
        session,
        wanted,
        lambda group, layout: actions.element(work, group, query, layout=layout),
        rows=lambda group, layout: actions.rows(work, group, query, layout=layout),
    )


@command.command(cls=options.Leaf, example="bl tasks download -g G1 -o data")
@options.group_option()
@options.job_option(hidden=True)
@options.page_size_option()
@options.task_filter_options()
@options.save_options()
@ask.with_session
def download(
    session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], page_size: int | None, filters: dict[str, Any], save: options.Save
) -> int:
    """Write the full task list to GROUP/task_list.json."""
    wanted = ask.groups_only(session, "tasks", groups, jobs)
    work = ask.job(session)
    query = actions.Query(page_size=page_size, everything=True, filters=filters)
    return ask.save_files(session, save, wanted, lambda target: actions.download(work, wanted, target, query=query))
