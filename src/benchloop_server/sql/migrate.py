"""Bringing a database to this program's schema: one process at a time, whole or not at all, and never backwards."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from benchloop_server.kit.db import Database

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x626C6D69
#: SQLite has no schema lock but the one on the whole file, which a writing transaction holds; PostgreSQL takes an advisory one.


class SchemaError(Exception):
    """The database's schema does not fit this program; the message says what to do."""


def head() -> str:
    """The name of this program's schema."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def upgrade(database: Database) -> bool:
    """Apply the migrations that are missing; True if there were any. Raises `SchemaError` for a newer schema."""
    with database.read() as connection:
        if _current(connection) == head():
            return False
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        current = _current(connection)
        _refuse_newer(current)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return current != head()


def check(database: Database) -> None:
    """Raise `SchemaError` unless the schema is this program's."""
    with database.read() as connection:
        current = _current(connection)
    _refuse_newer(current)
    if current != head():
        raise SchemaError("the database's schema is older than this program: run `benchloop-server migrate` first")


def _refuse_newer(current: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if current is not None and current not in known:
        raise SchemaError(
            f"the database was written by a newer benchloop-server (schema {current}); this one knows up to {head()}: upgrade it"
        )


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    return config
