"""`bl jobs`: the job list of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.options import Leaf, destination_options, group_option, job_filter_options, job_option, page_options, page_size_option
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import jobs as actions
else:
    actions = lazy("benchloop_client.actions.jobs")


@click.group(name="jobs")
def command() -> None:
    """Job list of groups."""


@command.command(cls=Leaf, example="bl jobs get -g G1 --all | jq '.[0].jobs | length'")
@group_option()
@job_option()
@page_options()
@job_filter_options()
@ask.pass_session
def get(session: Session, groups: tuple[str, ...], jobs: tuple[str, ...], page: int, page_size: int, everything: bool, **filters: str | None) -> int:
    """Print one JSON array, an object a group: one page of its jobs, or all of them."""
    wanted = ask.groups_only(session, "jobs", groups, jobs)
    work = ask.job(session)
    query = actions.Query(page=page, page_size=page_size, everything=everything, filters=filters)
    return ask.print_array(session, wanted, lambda group, out, layout: actions.write(work, group, out, query=query, layout=layout))


@command.command(cls=Leaf, example="bl jobs download -g G1 -o data")
@group_option()
@job_option()
@page_size_option(1000)
@job_filter_options()
@destination_options()
@ask.pass_session
def download(
    session: Session,
    groups: tuple[str, ...],
    jobs: tuple[str, ...],
    page_size: int,
    output_dir: str | None,
    skip_existing: bool,
    **filters: str | None,
) -> int:
    """Write the full job list to GROUP/job_list.json."""
    wanted = ask.groups_only(session, "jobs", groups, jobs)
    query = actions.Query(page_size=page_size, everything=True, filters=filters)
    with session.destination(output_dir, skip_existing=skip_existing) as destination:
        return ask.finish(session, actions.download(ask.job(session), wanted, destination=destination, query=query))
