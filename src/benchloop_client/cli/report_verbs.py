"""The three verbs of `bl report` and `bl rsi`: get, download and trigger work alike for both kinds of report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, options, waits
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import layout as layouts
    from benchloop_client.actions import reports as actions
    from benchloop_client.actions import selection
else:
    actions = lazy("benchloop_client.actions.reports")

_PASSED = "With -g: have the jobs that passed looked at anew, too."


def add(resource: click.Group, kind: Callable[[], actions.Kind]) -> None:
    """Give `resource` its verbs. `kind` is called when a verb runs: it loads what the verb needs."""
    name = resource.name or ""
    _add_get(resource, name, kind)
    _add_download(resource, name, kind)
    _add_trigger(resource, name, kind)


def _add_get(resource: click.Group, name: str, kind: Callable[[], actions.Kind]) -> None:
    @resource.command(cls=options.Leaf, example=f"bl {name} get -j J1")
    @options.target_options()
    @options.print_options()
    @ask.with_session
    def get(session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...]) -> int:
        """Print one JSON array, the server's answer for each group or job."""
        wanted = ask.targets(session, groups, jobs)
        work = ask.job(session)
        one = kind()
        call, columns = (one.of_job, one.job_columns) if wanted.jobs else (one.of_group, one.group_columns)

        def element(item: str, layout: layouts.Layout) -> Iterator[bytes]:
            return actions.element(call, work, item, layout=layout)

        return ask.print_array(session, wanted.jobs or wanted.groups, element, columns=columns)


def _add_download(resource: click.Group, name: str, kind: Callable[[], actions.Kind]) -> None:
    @resource.command(
        cls=options.Leaf,
        example=f"bl {name} download -g G1 -o data",
        help=f"Write the Markdown to JOB_{name}.md, or to GROUP_{name}.md and GROUP/JOB_{name}.md. What has none gets no file.",
    )
    @options.target_options()
    @options.selection_options()
    @options.save_options()
    @ask.with_session
    def download(
        session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], select: selection.Selection, save: options.Save
    ) -> int:
        wanted = ask.targets(session, groups, jobs)
        work = ask.job_on(session, wanted, select)
        if wanted.jobs:
            return ask.save_files(session, save, wanted.jobs, lambda target: actions.download_jobs(kind(), work, wanted.jobs, target))
        return ask.save_files(session, save, wanted.groups, lambda target: actions.download_groups(kind(), work, wanted.groups, target))


def _add_trigger(resource: click.Group, name: str, kind: Callable[[], actions.Kind]) -> None:
    @resource.command(
        cls=options.Leaf,
        example=f"bl {name} trigger -g G1 --include-passed --wait",
        help="Ask for reports, and print one JSON array of the answers. With --wait print what came in the end, as `get` does.",
    )
    @options.target_options()
    @click.option("--include-passed", is_flag=True, help=_PASSED)
    @waits.wait_options
    @options.print_options()
    @ask.with_session
    def trigger(session: Session, *, groups: tuple[str, ...], jobs: tuple[str, ...], include_passed: bool, wait: float | None) -> int:
        wanted = ask.targets(session, groups, jobs)
        work = ask.job(session)
        wish = actions.Wish(wanted.groups, wanted.jobs, include_passed)
        return ask.print_values(session, *actions.trigger(kind(), work, wish, patience=waits.patience(wait)))
