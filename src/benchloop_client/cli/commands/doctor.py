"""`bl doctor`: is everything well between this machine and the server, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.exits import Exit
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import TEXT, Session
from benchloop_client.errors import UsageError

if TYPE_CHECKING:
    from benchloop_client import settings
    from benchloop_client.actions import doctor as actions
    from benchloop_client.actions import findings
else:
    settings = lazy("benchloop_client.settings")
    actions = lazy("benchloop_client.actions.doctor")
    findings = lazy("benchloop_client.actions.findings")

T = TypeVar("T")

_COLOURS = {"ok": "\x1b[32m", "warn": "\x1b[33m", "fail": "\x1b[31m"}
_PLAIN = "\x1b[0m"
_WIDTH = 11


@click.command(name="doctor", cls=options.Leaf, example="bl doctor --format json | jq '.[] | select(.status != \"ok\")'")
@options.print_options(about="Lines for a person, or records.", default=TEXT, text=True)
@ask.with_session
def command(session: Session) -> int:
    """Is everything well between here and the server?

    Looks at configuration, connection, key, server and disk: a line each, with the way out of what is not well.

    Each line begins with ok, warn or fail. Exits 0 without a failure (warnings count as none), 3 if the key is at fault, 4 if the server
    cannot be reached, else 1. The API key is masked.
    """
    at_once = session.style.name == TEXT or not session.given.get("format")
    resolved = _or_error(lambda: settings.resolve(session.flags))
    loaded = resolved if isinstance(resolved, UsageError) else _or_error(lambda: session.env.load_settings(session.flags))
    if isinstance(loaded, settings.Settings):
        session.output.redact = loaded.redact
    patient = actions.Patient(resolved, loaded, lambda those: session.env.open_client(those, session.cancel), session.cancel)
    found = []
    for finding in actions.examine(patient):
        found.append(finding)
        if at_once:
            _show(session, finding)
    if not at_once:
        ask.print_values(session, [{"check": f.check, "status": f.status, "text": f.text, "fix": f.fix or None} for f in found])
    trouble = findings.worst(found)
    return {None: Exit.DONE, "key": Exit.AUTH, "network": Exit.NETWORK, "local": Exit.FAILED}[trouble]


def _show(session: Session, finding: findings.Finding) -> None:
    """One finding, at once: the next look may take a while."""
    word = f"{finding.status:<4}"
    if session.colour:
        word = f"{_COLOURS[finding.status]}{word}{_PLAIN}"
    text = f"{word}  {finding.check:<{_WIDTH}} {finding.text}" + (f" -> {finding.fix}" if finding.fix else "")
    with session.output.flushed():
        session.output.data(f"{text}\n".encode("utf-8", "replace"))


def _or_error(made: Callable[[], T]) -> T | UsageError:
    try:
        return made()
    except UsageError as error:
        return error
