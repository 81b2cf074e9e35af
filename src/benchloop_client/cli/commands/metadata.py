"""`bl metadata`: what a download task's jobs know about themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, ids, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import selection
    from benchloop_client.actions import task_archives as actions
else:
    actions = lazy("benchloop_client.actions.task_archives")


@click.group(name="metadata", cls=options.Resource)
def command() -> None:
    """Job metadata of a download task."""


@command.command(cls=options.Leaf, example="bl metadata download --task-id T1 -o data")
@options.task_option(required=True)
@options.selection_options()
@options.save_options()
@ask.with_session
def download(session: Session, *, task_id: str, select: selection.Selection, save: options.Save) -> int:
    """Write the metadata of each job to TASK_metadata.zip."""
    task = ids.task_id(task_id)
    work = ask.job_on(session, ids.Targets(task=task), select)
    return ask.save_files(session, save, (task,), lambda target: actions.metadata(work, task, target))
