"""Services without HTTP, over SQLite or PostgreSQL, and jobs to push into them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from obstore.store import MemoryStore
from sqlalchemy import create_engine, make_url, text

from benchloop_client.contract.resources import GroupUpsert, JobsUpsert, JobUpsert
from benchloop_server.adapters.blobs_object import ObjectBlobs
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import push
from benchloop_server.kit.db import Database
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import migrate
from benchloop_server.sql.access import workspaces


def principal(workspace: str = "default") -> Principal:
    """Somebody of the workspace who may do everything."""
    return Principal(workspace_id=workspace, user="ann", key_id="key-test", scopes=frozenset({"read", "write", "admin"}))


def services_over(database: Database, scratch: Path) -> Services:
    """Services with their schema, blobs in memory, and the workspaces `default` and `other`."""
    migrate.upgrade(database)
    with database.write() as connection:
        connection.execute(workspaces.insert(), [{"workspace_id": name, "created_at": 0} for name in ("default", "other")])
    scratch.mkdir(exist_ok=True)
    return Services(db=database, blobs=ObjectBlobs(MemoryStore()), scratch=scratch, identify=lambda _key: None)


@contextlib.contextmanager
def sqlite(folder: Path) -> Iterator[Database]:
    """A new SQLite file."""
    database = Database(f"sqlite:///{folder / 'test.sqlite3'}")
    try:
        yield database
    finally:
        database.close()


@contextlib.contextmanager
def postgres(url: str) -> Iterator[Database]:
    """A new schema of its own in the PostgreSQL database at `url`; it goes away afterwards."""
    name = f"test_{secrets.token_hex(6)}"
    base = make_url(url).set(drivername="postgresql+psycopg")
    admin = create_engine(base, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    own = base.update_query_dict({"options": f"-csearch_path={name}"})
    database = Database(own.render_as_string(hide_password=False))
    try:
        yield database
    finally:
        database.close()
        with admin.connect() as connection:
            connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
        admin.dispose()


def job(job_id: str, **facts: Any) -> dict[str, Any]:
    """The JSON of one job as a push sends it; the fingerprint follows from what is given."""
    contents = {name: facts.pop(name) for name in ("trajectory", "archive", "media") if name in facts}
    given = {"trial_key": job_id, "task_id": "task", "status": "completed", **facts}
    body = {"job_id": job_id, "facts": given, **contents}
    return {"fingerprint": hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(), **body}


def make_group(services: Services, group_id: str = "g1", *, workspace: str = "default", **facts: Any) -> None:
    """Create or update a group."""
    groups.put(services, principal(workspace), group_id, upsert=GroupUpsert(**{"name": group_id, **facts}))


def put(services: Services, *jobs: dict[str, Any], group_id: str = "g1", workspace: str = "default") -> list[str]:
    """Push the jobs; the state of each."""
    batch = JobsUpsert(jobs=[msgspec.convert(each, JobUpsert) for each in jobs])
    answer = push.put(services, principal(workspace), group_id, batch=batch)
    return [result.state for result in answer.results]
