"""`bl pull`: everything of groups or jobs, in the documented file layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.options import Leaf, destination_options, download_timeout_option, group_option, job_option
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import pull as actions
else:
    actions = lazy("benchloop_client.actions.pull")

_RESOURCES = ("metrics", "trajectory", "report", "artifacts", "tasks", "jobs")


def _resources(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    unknown = [part for part in chosen if part not in _RESOURCES]
    if unknown:
        raise click.BadParameter(f"--with has unsupported value(s): {', '.join(unknown)}; choose from {', '.join(_RESOURCES)}")
    return chosen


@click.command(name="pull", cls=Leaf, example="bl pull -g G1 --with metrics,trajectory,artifacts,tasks,jobs -o data")
@group_option()
@job_option()
@click.option("--with", "resources", default="metrics,trajectory", show_default=True, callback=_resources, help=f"Any of {','.join(_RESOURCES)}.")
@download_timeout_option()
@destination_options()
@ask.pass_session
def command(
    session: Session,
    groups: tuple[str, ...],
    jobs: tuple[str, ...],
    resources: tuple[str, ...],
    download_timeout: float | None,
    output_dir: str | None,
    skip_existing: bool,
) -> int:
    """Fetch groups or jobs into the documented file layout."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job(session)
    with session.destination(output_dir, skip_existing=skip_existing) as destination:
        if wanted.jobs:
            return ask.finish(session, actions.pull_jobs(work, wanted.jobs, resources=resources, destination=destination))
        return ask.finish(session, actions.pull_groups(work, wanted.groups, resources=resources, destination=destination))
