"""The program `benchloop-server`: serve, keys, and the schema. Errors are one line on standard error and exit code 1, wrong usage 2."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from alembic.util.exc import CommandError

from benchloop_client.contract.version import __version__
from benchloop_server.app import create_app
from benchloop_server.features.accounts import service as accounts
from benchloop_server.features.accounts.repository import KeyRow
from benchloop_server.features.reclaim import service as reclaim
from benchloop_server.foreman import Foreman
from benchloop_server.http import logs, serving
from benchloop_server.kit.clock import format_optional
from benchloop_server.kit.db import Database, DatabaseError
from benchloop_server.kit.errors import DomainError
from benchloop_server.settings import DEFAULT_HOST, DEFAULT_PORT, VARIABLES, BadSetting, Settings, load
from benchloop_server.sql.migrate import SchemaError, upgrade
from benchloop_server.wiring import connect, open_database, open_services
from benchloop_server.worker import Shift, new_id, stop_on_signals, work

_NAME = "benchloop-server"
_LOOPBACK = {"::1", "localhost"}

Command = Callable[..., Any]


def entry() -> None:
    """The console script."""
    main(prog_name=_NAME)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nVariables:\n" + "\n".join(f"  {name:<36}{text}" for name, text in VARIABLES.items()),
)
@click.version_option(__version__, prog_name=_NAME, message="%(prog)s %(version)s")
def main() -> None:
    """Keep and serve the data of agent benchmark runs."""


def _stores(command: Command) -> Command:
    """The options that say where the data is."""
    command = click.option("--database", metavar="URL", help="Database instead of SQLite in the data folder, e.g. postgresql://…")(command)
    return click.option("--data", type=click.Path(file_okay=False), help="Data folder.  [default: benchloop in your data directory]")(
        command
    )


@main.command()
@_stores
@click.option("--host", help=f"Address to listen on.  [default: {DEFAULT_HOST}]")
@click.option("--port", type=click.IntRange(0, 65535), help=f"Port, 0 for any free one.  [default: {DEFAULT_PORT}]")
@click.option("--blobs", metavar="URL", help="Blob store instead of a folder in the data folder: a folder, s3://bucket/prefix or memory:")
@click.option(
    "--access-log",
    metavar="PATH",
    help="File for a line a request, `-` for standard error, or `off`.  [default: logs/access.jsonl in the data folder]",
)
@click.option("--log-level", type=click.Choice(logs.LEVELS), help="What goes to standard error.  [default: info]")
@click.option("--workers", type=click.IntRange(0, 64), help="Worker processes that are started when there is work.  [default: 1]")
@click.option("--no-worker", is_flag=True, help="As `--workers 0`: `benchloop-server worker` does the work.")
def serve(access_log: str | None, no_worker: bool, **options: Any) -> None:
    """Serve the API until SIGTERM or Ctrl-C."""
    with _sentences():
        settings = load(**{**options, "workers": 0 if no_worker else options["workers"]})
        logs.configure(settings.log_level, access=access_log or settings.data / "logs" / "access.jsonl")
        services = open_services(settings)
        try:
            with Foreman(settings, services):
                _serve(settings, create_app(services))
        finally:
            services.db.close()


@main.command(
    epilog="\b\nExample, beside servers that were started with --no-worker:\n  benchloop-server worker --database postgresql://…\n\n"
    "Exit codes: 0 told to stop; 1 database or blobs cannot be used; 2 wrong usage."
)
@_stores
@click.option("--blobs", metavar="URL", help="Blob store, as for `serve`.")
@click.option("--slots", type=click.IntRange(1, 64), default=2, show_default=True, help="Pieces of work at a time.")
@click.option("--log-level", type=click.Choice(logs.LEVELS), help="What goes to standard error.  [default: info]")
def worker(slots: int, **options: Any) -> None:
    """Do background work until SIGTERM or Ctrl-C. Several may run, beside servers and each other."""
    with _sentences():
        settings = load(**options)
        logs.configure(settings.log_level, access="off")
        work(settings, worker_id=new_id(), shift=Shift(slots=slots), stopping=stop_on_signals())


@main.group()
def key() -> None:
    """Make, list and revoke API keys."""


@key.command("create")
@_stores
@click.option("--name", required=True, help="What the key is for.")
@click.option("--user", default=accounts.DEFAULT_USER, show_default=True, help="Whose key it is.")
@click.option("--workspace", default=accounts.DEFAULT_WORKSPACE, show_default=True, help="What it opens; a new name makes a new workspace.")
@click.option("--scopes", default=",".join(accounts.DEFAULT_SCOPES), show_default=True, help=f"Out of {', '.join(accounts.SCOPES)}.")
@click.option("--days", type=click.IntRange(1, 36500), help="How long it lives.  [default: until it is revoked]")
def create_key(name: str, scopes: str, days: int | None, **options: Any) -> None:
    """Make a key and print it, this once, on standard output."""
    wanted = tuple(scope.strip() for scope in scopes.split(",") if scope.strip())
    whose = {"user": options.pop("user"), "workspace": options.pop("workspace")}
    with _database(options) as database:
        text, row = accounts.create_key(database, name, scopes=wanted, days=days, **whose)
    click.echo(text)
    click.echo(f"{_NAME}: key {row.key_id} for {row.user} in workspace {row.workspace_id} ({row.scopes}); it is not shown again", err=True)
    click.echo("use it: export BENCHLOOP_API_KEY=<key>, or send it in the `X-API-Key` header", err=True)


@key.command("list")
@_stores
def list_keys(**options: Any) -> None:
    """List the keys: a table on a terminal, a JSON array otherwise. A key itself is never shown."""
    with _database(options) as database:
        rows = [_shown(row) for row in accounts.list_keys(database)]
    if not sys.stdout.isatty():
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for line in _table(rows):
        click.echo(line)


@key.command("revoke")
@click.argument("key_id")
@_stores
def revoke_key(key_id: str, **options: Any) -> None:
    """Make a key worthless from the next request on; KEY_ID as `key list` shows it."""
    with _database(options) as database:
        accounts.revoke_key(database, key_id)
    click.echo(f"{_NAME}: key {key_id} is revoked", err=True)


@main.command()
@_stores
def migrate(**options: Any) -> None:
    """Bring the database to this program's schema. On SQLite the other commands do so by themselves."""
    with _sentences():
        database = connect(load(**options))
        changed = upgrade(database)
        database.close()
    click.echo(f"{_NAME}: the schema {'is now' if changed else 'was'} up to date", err=True)


@main.command(
    epilog="\b\nExample, once a day beside a running server:\n  benchloop-server gc --grace 48\n\n"
    "Exit codes: 0 done; 1 database or blobs cannot be used; 2 wrong usage."
)
@_stores
@click.option("--blobs", metavar="URL", help="Blob store, as for `serve`.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=24,
    show_default=True,
    metavar="HOURS",
    help="How long data has to have been unused; 0 only while nobody pushes.",
)
def gc(grace: float, **options: Any) -> None:
    """Give back the space of deleted groups and replaced data: what nothing refers to for as long as the grace. Servers may run."""
    with _sentences():
        services = open_services(load(**options))
        try:
            done = reclaim.collect(services, grace_hours=grace)
        finally:
            services.db.close()
    click.echo(
        f"{_NAME}: removed {done.uploads} uploads and {done.blobs} blobs ({done.bytes:,} bytes); "
        f"{done.waiting} unused uploads are kept until their grace is over",
        err=True,
    )


def _serve(settings: Settings, app: Any) -> None:
    if settings.host not in _LOOPBACK and not settings.host.startswith("127."):
        click.echo(f"{_NAME}: warning: keys travel in clear text to {settings.host}; put a TLS proxy in front of it", err=True)
    try:
        listener = serving.bind(settings.host, settings.port)
    except OSError as error:
        raise NotServed(f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}") from error
    if not serving.run(app, listener, up=_tell):
        raise NotServed("the server could not start")


class NotServed(Exception):
    """The server ended before it served."""


def _tell(address: str) -> None:
    click.echo(f"{_NAME}: listening on {address}", err=True)


@contextmanager
def _database(options: dict[str, Any]) -> Iterator[Database]:
    with _sentences():
        database = open_database(load(**options))
        try:
            yield database
        finally:
            database.close()


@contextmanager
def _sentences() -> Iterator[None]:
    """What the operator can do something about ends as one line; a bug keeps its traceback."""
    try:
        yield
    except (BadSetting, SchemaError, DomainError, NotServed, CommandError, OSError, DatabaseError) as error:
        line = " ".join(str(getattr(error, "orig", None) or error).split())
        raise click.ClickException(line) from error


def _shown(row: KeyRow) -> dict[str, Any]:
    shown = dataclasses.asdict(row)
    times = {name: format_optional(getattr(row, name)) for name in ("created_at", "expires_at", "revoked_at", "last_used_at")}
    return {**shown, "scopes": row.scopes.split(","), **times}


def _table(rows: list[dict[str, Any]]) -> list[str]:
    titles = ("key_id", "name", "user", "workspace_id", "scopes", "created_at", "expires_at", "revoked_at")
    cells = [[title.upper() for title in titles]]
    cells += [[",".join(row[title]) if title == "scopes" else str(row[title] or "-") for title in titles] for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(titles))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
