"""`bl metrics`: run metrics of groups or jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import metrics as actions
else:
    actions = lazy("benchloop_client.actions.metrics")


@click.group(name="metrics", cls=options.Resource)
def command() -> None:
    """Run metrics of groups or jobs."""


@command.command(cls=options.Leaf, example="bl metrics get -g G1 --scope overall")
@options.target_options()
@options.scope_option("overall", "detail")
@options.print_options()
@ask.with_session
def get(session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], scope: str) -> int:
    """Print one JSON array, an object a group or job."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job(session)
    if wanted.jobs:
        return ask.print_array(session, wanted.jobs, lambda job, layout: actions.job_element(work, job, layout=layout))
    return ask.print_array(
        session,
        wanted.groups,
        lambda group, layout: actions.group_element(work, group, scope=scope, layout=layout),
        rows=(lambda group, layout: actions.detail_rows(work, group, layout=layout)) if scope == "detail" else None,
    )


@command.command(cls=options.Leaf, example="bl metrics download -g G1 -o data")
@options.target_options()
@options.scope_option("overall", "detail")
@options.save_options()
@ask.with_session
def download(session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], scope: str, save: options.Save) -> int:
    """Write JOB_run_metrics.json, or overall_metrics.json and detail_metrics.json under GROUP/."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job(session)
    if wanted.jobs:
        return ask.save_files(session, save, wanted.jobs, lambda target: actions.download_jobs(work, wanted.jobs, target))
    return ask.save_files(session, save, wanted.groups, lambda target: actions.download_groups(work, wanted.groups, target, scope=scope))
