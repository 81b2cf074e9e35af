"""`bl metadata`: what jobs know about themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, ids, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import job_metadata, selection
    from benchloop_client.actions import task_archives as actions
else:
    actions = lazy("benchloop_client.actions.task_archives")
    job_metadata = lazy("benchloop_client.actions.job_metadata")

_NO_JOB = "at least one -j/--job is required"


@click.group(name="metadata", cls=options.Resource)
def command() -> None:
    """What the source said about jobs, beside the facts."""


@command.command(cls=options.Leaf, example="bl metadata get -j J1")
@options.job_option()
@options.print_options()
@ask.with_session
def get(session: Session, *, jobs: tuple[str, ...]) -> int:
    """Print one JSON array, the metadata of each job."""
    wanted = ids.parse(jobs, "job id", stdin=session.env.stdin, say=session.output.note, missing=_NO_JOB)
    work = ask.job(session)
    return ask.print_array(session, wanted, lambda job, layout: job_metadata.element(work, job, layout=layout))


@command.command(cls=options.Leaf, example="bl metadata download --task-id T1 -o data")
@options.task_option(required=True)
@options.zip_level_option()
@options.selection_options()
@options.save_options()
@ask.with_session
def download(session: Session, *, task_id: str, level: int, select: selection.Selection, save: options.Save) -> int:
    """Write the metadata of each job of a download task to TASK_metadata.zip."""
    task = ids.task_id(task_id)
    work = ask.job_on(session, ids.Targets(task=task), select)
    return ask.save_files(session, save, (task,), lambda target: actions.metadata(work, task, target, level=level))
