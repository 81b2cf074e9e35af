"""`bl trajectory`: trajectories of groups, jobs or a download task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import selection, task_archives
    from benchloop_client.actions import trajectory as actions
else:
    actions = lazy("benchloop_client.actions.trajectory")
    task_archives = lazy("benchloop_client.actions.task_archives")


@click.group(name="trajectory", cls=options.Resource)
def command() -> None:
    """Trajectories of groups or jobs."""


@command.command(cls=options.Leaf, example="bl trajectory get -j J1 | jq '.[0].steps | length'")
@options.target_options()
@options.download_timeout_option()
@options.print_options()
@ask.with_session
def get(session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...]) -> int:
    """Print one JSON array, a document a job or an object a group."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job(session)
    if wanted.jobs:
        return ask.print_array(session, wanted.jobs, lambda job, layout: actions.job_element(work, job, layout=layout))
    return ask.print_array(
        session,
        wanted.groups,
        lambda group, layout: actions.group_element(work, group, layout=layout),
        rows=lambda group, layout: actions.group_rows(work, group, layout=layout),
    )


@command.command(cls=options.Leaf, example="bl trajectory download -g G1 -o data")
@options.target_options(task=True)
@options.download_timeout_option()
@options.zip_level_option()
@options.selection_options()
@options.save_options()
@ask.with_session
def download(
    session: Session,
    *,
    groups: tuple[str, ...],
    jobs: tuple[str, ...],
    task_id: str | None,
    level: int,
    select: selection.Selection,
    save: options.Save,
) -> int:
    """Write JOB_trajectory.json, GROUP/trajectory.json or TASK_trajectories.zip."""
    wanted = ask.targets(session, groups, jobs, task=task_id)
    work = ask.job_on(session, wanted, select)
    task = wanted.task
    if task is not None:
        return ask.save_files(session, save, (task,), lambda target: task_archives.trajectories(work, task, target, level=level))
    if wanted.jobs:
        return ask.save_files(session, save, wanted.jobs, lambda target: actions.download_jobs(work, wanted.jobs, target))
    return ask.save_files(session, save, wanted.groups, lambda target: actions.download_groups(work, wanted.groups, target))
