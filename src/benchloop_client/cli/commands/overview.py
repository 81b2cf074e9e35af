"""`bl overview`: statistics of groups or jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.options import Leaf, group_option, job_option, one_of
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import overview as actions
else:
    actions = lazy("benchloop_client.actions.overview")

_SCOPES = ("summary", "tasks", "all")


@click.group(name="overview")
def command() -> None:
    """Statistics of groups or jobs."""


@command.command(cls=Leaf, example="bl overview get -g G1 --scope summary")
@group_option()
@job_option()
@click.option("--scope", default="all", show_default=True, callback=one_of("--scope", _SCOPES), help="Part of a group: summary, tasks or all.")
@ask.pass_session
def get(session: Session, groups: tuple[str, ...], jobs: tuple[str, ...], scope: str) -> int:
    """Print one JSON array, an object a group or job."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job(session)
    if wanted.jobs:
        return ask.print_array(session, wanted.jobs, lambda job, out, layout: actions.write_job(work, job, out, layout=layout))
    return ask.print_array(session, wanted.groups, lambda group, out, layout: actions.write_group(work, group, out, scope=scope, layout=layout))
