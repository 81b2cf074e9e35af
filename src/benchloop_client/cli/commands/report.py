"""`bl report`: reports of groups or jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import options, report_verbs
from benchloop_client.cli.lazy import lazy

if TYPE_CHECKING:
    from benchloop_client.actions import reports
else:
    reports = lazy("benchloop_client.actions.reports")


@click.group(name="report", cls=options.Resource)
def command() -> None:
    """Reports of groups or jobs: why they failed, in words."""


report_verbs.add(command, lambda: reports.REPORT)
