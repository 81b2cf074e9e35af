"""`bl metadata`: what a download task's jobs know about themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, ids
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.options import Leaf, destination_options, task_option
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import task_archives as actions
else:
    actions = lazy("benchloop_client.actions.task_archives")


@click.group(name="metadata")
def command() -> None:
    """Job metadata of a download task."""


@command.command(cls=Leaf, example="bl metadata download --task-id T1 -o data")
@task_option(required=True)
@destination_options()
@ask.pass_session
def download(session: Session, task_id: str, output_dir: str | None, skip_existing: bool) -> int:
    """Write the metadata of each job to TASK_metadata.zip."""
    task = ids.task_id(task_id)
    with session.destination(output_dir, skip_existing=skip_existing) as destination:
        return ask.finish(session, actions.metadata(ask.job(session), task, destination=destination))
