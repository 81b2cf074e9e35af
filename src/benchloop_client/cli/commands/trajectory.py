"""`bl trajectory`: trajectories of groups, jobs or a download task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.options import Leaf, destination_options, download_timeout_option, group_option, job_option, task_option
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import task_archives
    from benchloop_client.actions import trajectory as actions
else:
    actions = lazy("benchloop_client.actions.trajectory")
    task_archives = lazy("benchloop_client.actions.task_archives")


@click.group(name="trajectory")
def command() -> None:
    """Trajectories of groups or jobs."""


@command.command(cls=Leaf, example="bl trajectory get -j J1 | jq '.[0].steps | length'")
@group_option()
@job_option()
@download_timeout_option()
@ask.pass_session
def get(session: Session, groups: tuple[str, ...], jobs: tuple[str, ...], download_timeout: float | None) -> int:
    """Print one JSON array, a document a job or an object a group."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job(session)
    write = actions.write_job if wanted.jobs else actions.write_group
    return ask.print_array(session, wanted.jobs or wanted.groups, lambda name, out, layout: write(work, name, out, layout=layout))


@command.command(cls=Leaf, example="bl trajectory download -g G1 -o data")
@group_option()
@job_option()
@task_option()
@download_timeout_option()
@destination_options()
@ask.pass_session
def download(
    session: Session,
    groups: tuple[str, ...],
    jobs: tuple[str, ...],
    task_id: str | None,
    download_timeout: float | None,
    output_dir: str | None,
    skip_existing: bool,
) -> int:
    """Write JOB_trajectory.json, GROUP/trajectory.json or TASK_trajectories.zip."""
    wanted = ask.targets(session, groups, jobs, task=task_id)
    work = ask.job(session)
    with session.destination(output_dir, skip_existing=skip_existing) as destination:
        if wanted.task:
            return ask.finish(session, task_archives.trajectories(work, wanted.task, destination=destination))
        if wanted.jobs:
            return ask.finish(session, actions.download_jobs(work, wanted.jobs, destination=destination))
        return ask.finish(session, actions.download_groups(work, wanted.groups, destination=destination))
