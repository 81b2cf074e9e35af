"""`--wait` and `--wait-timeout` of commands that ask a server for work, and what actions make of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli.lazy import lazy

if TYPE_CHECKING:
    from benchloop_client.actions import waiting
else:
    waiting = lazy("benchloop_client.actions.waiting")

_LIMIT = 1800


def wait_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Both options, as one argument `wait`: seconds to wait at most, None for not at all."""

    @wraps(function)
    def command(*args: Any, wait: bool, wait_timeout: float, **values: Any) -> Any:
        return function(*args, wait=wait_timeout if wait else None, **values)

    timeout = click.option(
        "--wait-timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        default=_LIMIT,
        show_default=True,
        help="How long --wait waits; then exit 1, while the server goes on.",
    )
    text = "Wait until it is there. Exit 1 if it fails, and at once where the server does not analyse yet."
    return click.option("--wait", is_flag=True, help=text)(timeout(command))


def patience(wait: float | None) -> waiting.Patience | None:
    """How to wait; None for not at all."""
    return None if wait is None else waiting.Patience(wait)
