"""`bl rsi`: weakness reports of groups or jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import options, report_verbs
from benchloop_client.cli.lazy import lazy

if TYPE_CHECKING:
    from benchloop_client.actions import rsi
else:
    rsi = lazy("benchloop_client.actions.rsi")


@click.group(name="rsi", cls=options.Resource)
def command() -> None:
    """Weakness reports of groups or jobs."""


report_verbs.add(command, lambda: rsi.RSI)
