"""The database: one engine, and the two units of work (`read`, `write`), each one transaction. The same code on SQLite and PostgreSQL.

SQLite runs in WAL mode with `synchronous=FULL`: an answer of 2xx means durable, and with NORMAL the last commits of a WAL can be lost when
power fails. Writers begin with BEGIN IMMEDIATE, because a transaction that reads first and writes later fails at once on a stale snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import URL, Connection, Row, create_engine, event, make_url, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import SQLAlchemyError as DatabaseError

__all__ = ["Connection", "Database", "DatabaseError", "Row", "passing_fault", "sqlite_url"]

_WRITES = "benchloop_writes"
_BUSY_SECONDS = 20
_PRAGMAS = ("journal_mode=WAL", f"busy_timeout={_BUSY_SECONDS * 1000}", "foreign_keys=ON", "synchronous=FULL", "temp_store=MEMORY")


class Database:
    """An engine and its transactions. `url` is SQLAlchemy's, for `sqlite` or `postgresql`."""

    def __init__(self, url: str | URL) -> None:
        parsed = make_url(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        if not self.is_sqlite and parsed.get_backend_name() != "postgresql":
            raise ValueError(f"the database has to be SQLite or PostgreSQL, not {parsed.get_backend_name()!r}")
        if not self.is_sqlite:
            parsed = parsed.set(drivername="postgresql+psycopg")
        self.engine: Engine = create_engine(
            parsed, pool_size=8, max_overflow=56, pool_timeout=_BUSY_SECONDS, pool_pre_ping=not self.is_sqlite
        )
        self._reader = self.engine.execution_options(**({} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}))
        self._writer = self.engine.execution_options(**{_WRITES: True})
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A snapshot: everything read inside is of one moment."""
        with self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """The right to change: committed when the block ends, rolled back when it raises. Never open one inside another."""
        with self._writer.begin() as connection:
            yield connection

    def ping(self) -> None:
        """Raise unless the database answers."""
        with self.read() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()


def passing_fault(error: Exception) -> Literal["busy", "full"] | None:
    """What kept the database from a request that has nothing wrong with it: another writer, or a full disk; None for anything else."""
    if not isinstance(error, OperationalError):
        return None
    return "busy" if "locked" in str(error) else "full" if "disk is full" in str(error) else None


def sqlite_url(path: Path) -> URL:
    """The URL of a SQLite file, whatever signs its path holds."""
    return URL.create("sqlite", database=str(path))


def _prepare_sqlite(dbapi_connection: Any, _record: Any) -> None:
    dbapi_connection.isolation_level = None
    cursor = dbapi_connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
