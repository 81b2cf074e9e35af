"""The schema on each database: migrations lead to what the code declares, once, and never backwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from benchloop_server.kit.db import Database
from benchloop_server.sql import migrate
from benchloop_server.sql.tables import metadata


def test_migrations_from_empty_lead_to_the_declared_tables(database: Database) -> None:
    assert migrate.upgrade(database) is True
    with database.read() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_object": _is_for(connection)}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def _is_for(connection: Connection) -> Callable[..., bool]:
    """Alembic does not ask which database a declared index is for."""

    def wanted(thing: Any, _name: object, kind: str, reflected: bool, _other: object) -> bool:
        return reflected or kind != "index" or connection.dialect.name == "sqlite" or thing.name != "ix_jobs_listed"

    return wanted


def test_a_second_upgrade_does_nothing(database: Database) -> None:
    migrate.upgrade(database)
    assert migrate.upgrade(database) is False
    migrate.check(database)


def test_an_empty_database_is_told_what_to_do(database: Database) -> None:
    with pytest.raises(migrate.SchemaError, match="benchloop-server migrate"):
        migrate.check(database)


def test_a_newer_schema_is_refused_and_left_alone(database: Database) -> None:
    migrate.upgrade(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for refuse in (migrate.upgrade, migrate.check):
        with pytest.raises(migrate.SchemaError, match=r"newer benchloop-server .schema 9999"):
            refuse(database)
    with database.read() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "9999"


def test_upgrades_at_the_same_time_wait_for_each_other(database: Database) -> None:
    outcomes: list[object] = []

    def upgrade() -> None:
        try:
            outcomes.append(migrate.upgrade(database))
        except Exception as error:  # noqa: BLE001 - a thread hands its failure over
            outcomes.append(error)

    threads = [threading.Thread(target=upgrade) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(map(repr, outcomes)) == ["False", "False", "False", "True"]


def test_a_migration_that_fails_leaves_nothing(database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    (folder / "versions").mkdir(parents=True)
    source = Path(migrate.__file__).parent / "migrations"
    (folder / "env.py").write_text((source / "env.py").read_text())
    first = (source / "versions" / "0001_first.py").read_text()
    (folder / "versions" / "0001_first.py").write_text(first + "    raise RuntimeError('power cut')\n")
    monkeypatch.setattr(migrate, "_FOLDER", folder)
    with pytest.raises(RuntimeError, match="power cut"):
        migrate.upgrade(database)
    monkeypatch.undo()
    assert inspect(database.engine).get_table_names() == []
    assert migrate.upgrade(database) is True
