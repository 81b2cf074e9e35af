"""`bl whoami`: whose key is sent, and what it may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, exits, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.plain_table import rows_as_text
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import account as actions
else:
    actions = lazy("benchloop_client.actions.account")


@click.command(name="whoami", cls=options.Leaf, example="bl whoami --format json | jq -r '.[0].workspace'")
@options.print_options(default="table on a terminal, else json")
@ask.with_session
def command(session: Session) -> int:
    """Whose key is sent, and what it may do.

    User, workspace, key and scopes as the server sees them: a table on a terminal, else one JSON array.
    """
    found = {"host": session.settings.host, "key_from": session.settings.came_from["api_key"], **actions.whoami(session.client)}
    if session.given.get("fields") or (session.given.get("format") or ("table" if session.on_terminal else "json")) != "table":
        return ask.print_values(session, [found])
    rows = [
        (name, ", ".join(map(str, value)) if isinstance(value, list) else "-" if value is None else value) for name, value in found.items()
    ]
    with session.output.flushed():
        session.output.data(rows_as_text(rows).encode("utf-8", "replace"))
    return exits.Exit.DONE
