"""`bl config`: the local configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session
from benchloop_client.cli.stdin import read_all

if TYPE_CHECKING:
    from benchloop_client import configfile, profile
else:
    profile = lazy("benchloop_client.profile")
    configfile = lazy("benchloop_client.configfile")


@click.group(name="config", cls=options.Resource)
def command() -> None:
    """The local configuration file."""


@command.command(name="set", cls=options.Leaf, example="bl config set --host http://127.0.0.1:8700 --api-key -")
@click.option("--api-key", metavar="TEXT", help="Key to store; '-' reads it from stdin, so that it is in no process list.")
@click.option("--host", metavar="TEXT", help="Base URL of the server.")
@click.option("-o", "--output-dir", metavar="DIR", help="Download root.")
@click.option("--allow-http/--no-allow-http", default=None, help="Whether the key may go over plain http to another machine.")
@click.option("--config", metavar="FILE", help="The file to change (default ~/.benchloop/config.toml).")
@ask.with_session
def set_(session: Session, *, config: str | None, **values: Any) -> int:
    """Store values; everything else in the file stays as it is."""
    if values["api_key"] == "-":
        values["api_key"] = read_all(session.env.stdin, "the key", session.output.note).strip()
    order = ("host", "api_key", "output_dir", "allow_http")
    changes = {name: values[name] for name in order if values[name] not in (None, "")}
    if not changes:
        raise click.BadParameter("provide at least one of --api-key/--host/--output-dir")
    path = configfile.config_path(config or session.given.get("config"))
    profile.save(path, changes)
    session.output.note(f"wrote config to {path}")
    return 0
