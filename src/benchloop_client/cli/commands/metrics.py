"""`bl metrics`: run metrics of groups or jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.options import Decorator, Leaf, destination_options, group_option, job_option, one_of
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import metrics as actions
else:
    actions = lazy("benchloop_client.actions.metrics")


def _scope() -> Decorator:
    check = one_of("--scope", ("overall", "detail", "all"))
    return click.option("--scope", default="all", show_default=True, callback=check, help="Part of a group's metrics: overall, detail or all.")


@click.group(name="metrics")
def command() -> None:
    """Run metrics of groups or jobs."""


@command.command(cls=Leaf, example="bl metrics get -g G1 --scope overall")
@group_option()
@job_option()
@_scope()
@ask.pass_session
def get(session: Session, groups: tuple[str, ...], jobs: tuple[str, ...], scope: str) -> int:
    """Print one JSON array, an object a group or job."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job(session)
    if wanted.jobs:
        return ask.print_array(session, wanted.jobs, lambda job, out, layout: actions.write_job(work, job, out, layout=layout))
    return ask.print_array(session, wanted.groups, lambda group, out, layout: actions.write_group(work, group, out, scope=scope, layout=layout))


@command.command(cls=Leaf, example="bl metrics download -g G1 -o data")
@group_option()
@job_option()
@_scope()
@destination_options()
@ask.pass_session
def download(
    session: Session, groups: tuple[str, ...], jobs: tuple[str, ...], scope: str, output_dir: str | None, skip_existing: bool
) -> int:
    """Write JOB_run_metrics.json, or overall_metrics.json and detail_metrics.json under GROUP/."""
    wanted = ask.targets(session, groups, jobs)
    with session.destination(output_dir, skip_existing=skip_existing) as destination:
        if wanted.jobs:
            return ask.finish(session, actions.download_jobs(ask.job(session), wanted.jobs, destination=destination))
        return ask.finish(session, actions.download_groups(ask.job(session), wanted.groups, destination=destination, scope=scope))
