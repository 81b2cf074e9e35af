"""`bl groups`: which groups the server holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import groups as actions
else:
    actions = lazy("benchloop_client.actions.groups")


@click.group(name="groups", cls=options.Resource)
def command() -> None:
    """Groups on the server."""


@command.command(name="list", cls=options.Leaf, example="bl groups list | jq -r '.[].group_id'")
@ask.with_session
def list_(session: Session) -> int:
    """Print one JSON array with all groups, newest first."""
    return ask.print_values(session, list(actions.listed(ask.job(session))))


@command.command(cls=options.Leaf, example="bl groups get -g G1")
@options.group_option()
@ask.with_session
def get(session: Session, *, groups: tuple[str, ...]) -> int:
    """Print one JSON array, an object a group."""
    wanted = ask.groups_only(session, "groups", groups, ())
    work = ask.job(session)
    return ask.print_array(session, wanted, lambda group, layout: actions.element(work, group, layout=layout))
