"""`bl jobs`: the job list of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import jobs as actions
else:
    actions = lazy("benchloop_client.actions.jobs")


@click.group(name="jobs", cls=options.Resource)
def command() -> None:
    """Job list of groups."""


@command.command(cls=options.Leaf, example="bl jobs get -g G1 --all | jq '.[0].jobs | length'")
@options.group_option()
@options.job_option(hidden=True)
@options.page_options()
@options.job_filter_options()
@options.print_options()
@ask.with_session
def get(session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], pages: dict[str, Any], filters: dict[str, Any]) -> int:
    """Print one JSON array, an object a group: one page of its jobs, or all of them."""
    wanted = ask.groups_only(session, "jobs", groups, jobs)
    work = ask.job(session)
    query = actions.Query(**pages, filters=filters)
    return ask.print_array(
        session,
        wanted,
        lambda group, layout: actions.element(work, group, query, layout=layout),
        rows=lambda group, layout: actions.rows(work, group, query, layout=layout),
    )


@command.command(cls=options.Leaf, example="bl jobs download -g G1 -o data")
@options.group_option()
@options.job_option(hidden=True)
@options.page_size_option(1000)
@click.option("--all", is_flag=True, expose_value=False, help="Accepted: it is always the whole list.")
@options.job_filter_options()
@options.save_options()
@ask.with_session
def download(
    session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], page_size: int, filters: dict[str, Any], save: options.Save
) -> int:
    """Write the full job list to GROUP/job_list.json."""
    wanted = ask.groups_only(session, "jobs", groups, jobs)
    work = ask.job(session)
    query = actions.Query(page_size=page_size, everything=True, filters=filters)
    return ask.save_files(session, save, wanted, lambda target: actions.download(work, wanted, target, query=query))
