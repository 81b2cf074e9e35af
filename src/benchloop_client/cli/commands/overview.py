"""`bl overview`: statistics of groups or jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import overview as actions
else:
    actions = lazy("benchloop_client.actions.overview")


@click.group(name="overview", cls=options.Resource)
def command() -> None:
    """Statistics of groups or jobs."""


@command.command(cls=options.Leaf, example="bl overview get -g G1 --scope summary")
@options.target_options()
@options.scope_option("summary", "tasks")
@options.print_options()
@ask.with_session
def get(session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], scope: str) -> int:
    """Print one JSON array, an object a group or job."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job(session)
    if wanted.jobs:
        return ask.print_array(session, wanted.jobs, lambda job, layout: actions.job_element(work, job, layout=layout))
    return ask.print_array(session, wanted.groups, lambda group, layout: actions.group_element(work, group, scope=scope, layout=layout))
