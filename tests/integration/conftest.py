"""The same services over each database."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchloop_server.kit.db import Database
from benchloop_server.kit.services import Services
from tests.support import stores


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database: SQLite always, PostgreSQL where one is at hand."""
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":
            yield stack.enter_context(stores.sqlite(tmp_path))
        else:
            yield stack.enter_context(stores.postgres(request.getfixturevalue("postgres_url")))


@pytest.fixture
def services(database: Database, tmp_path: Path) -> Services:
    """Services over the database, with the workspaces `default` and `other`."""
    return stores.services_over(database, tmp_path / "scratch")
