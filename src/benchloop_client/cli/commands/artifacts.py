"""`bl artifacts`: the files of groups, jobs or a download task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import artifact_lists as lists
    from benchloop_client.actions import artifacts as actions
    from benchloop_client.actions import selection
else:
    actions = lazy("benchloop_client.actions.artifacts")
    lists = lazy("benchloop_client.actions.artifact_lists")


@click.group(name="artifacts", cls=options.Resource)
def command() -> None:
    """Artifacts of groups or jobs."""


@command.command(cls=options.Leaf, example="bl artifacts download -g G1 --member 'verifier/*' -o data")
@options.target_options(task=True)
@click.option("--include", metavar="GLOB", help="Only artifacts whose name matches.")
@click.option("--exclude", metavar="GLOB", help="Not the artifacts whose name matches.")
@click.option("--list-only", is_flag=True, help="Print one JSON array of the artifacts (and the files inside) instead.")
@click.option("--member", metavar="GLOB", help="Single files out of the archives: those whose path inside matches.")
@options.placeholder_option()
@options.selection_options()
@options.save_options(printing="--list-only or --dry-run")
@ask.with_session
def download(
    session: Session,
    *,
    groups: tuple[str, ...],
    jobs: tuple[str, ...],
    task_id: str | None,
    list_only: bool,
    select: selection.Selection,
    save: options.Save,
    **chosen: Any,
) -> int:
    """Write GROUP/JOB/NAME, JOB/NAME or TASK/JOB.tgz; or list what there is."""
    wanted = ask.targets(session, groups, jobs, task=task_id)
    work = ask.job_on(session, wanted, select)
    source = lists.Source(groups=wanted.groups, jobs=wanted.jobs, task=wanted.task)
    choice = lists.Choice(**chosen)
    if list_only:
        return ask.print_values(session, *lists.listed(work, source, choice=choice))
    return ask.save_files(session, save, source.ids, lambda target: actions.download(work, source, target, choice=choice))
