"""`bl pull`: everything of groups or jobs, in the documented file layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import pull as actions
    from benchloop_client.actions import selection
else:
    actions = lazy("benchloop_client.actions.pull")

_RESOURCES = ("metrics", "trajectory", "report", "artifacts", "tasks", "jobs", "metadata", "rsi")


def _resources(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    unknown = [part for part in chosen if part not in _RESOURCES]
    if unknown:
        raise click.BadParameter(f"--with has unsupported value(s): {', '.join(unknown)}; choose from {', '.join(_RESOURCES)}")
    if not chosen:
        raise click.BadParameter(f"--with names nothing to fetch; choose from {', '.join(_RESOURCES)}")
    return chosen


@click.command(name="pull", cls=options.Leaf, example="bl pull -g G1 --with metrics,trajectory,artifacts,tasks,jobs -o data")
@options.target_options()
@click.option(
    "--with",
    "resources",
    default="metrics,trajectory",
    show_default=True,
    metavar="LIST",
    callback=_resources,
    help=f"What to fetch, of {','.join(_RESOURCES)}.",
)
@options.placeholder_option()
@options.download_timeout_option()
@options.selection_options()
@options.save_options()
@ask.with_session
def command(
    session: Session,
    *,
    groups: tuple[str, ...],
    jobs: tuple[str, ...],
    select: selection.Selection,
    save: options.Save,
    **what: Any,
) -> int:
    """Fetch groups or jobs into the documented file layout."""
    wanted = ask.targets(session, groups, jobs)
    work = ask.job_on(session, wanted, select)
    if wanted.jobs:
        return ask.save_files(session, save, wanted.jobs, lambda target: actions.pull_jobs(work, wanted.jobs, target, **what))
    return ask.save_files(session, save, wanted.groups, lambda target: actions.pull_groups(work, wanted.groups, target, **what))
