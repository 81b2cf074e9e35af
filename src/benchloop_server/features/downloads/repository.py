"""The rows of download tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, and_, func, insert, or_, select

from benchloop_client.contract.resources import DownloadTask
from benchloop_server.kit.clock import format_time
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.tables import download_tasks


def find(connection: Connection, principal: Principal, task_id: str) -> DownloadTask | None:
    """The task, if it is in the caller's workspace."""
    mine = (download_tasks.c.workspace_id == principal.workspace_id, download_tasks.c.task_id == task_id)
    row = connection.execute(select(download_tasks).where(*mine)).one_or_none()
    if row is None:
        return None
    return DownloadTask(
        task_id=row.task_id,
        group_id=row.group_id,
        created_at=format_time(row.created_at),
        total=row.total,
        filters=msgspec.json.decode(row.filters_json),
        job_ids=msgspec.json.decode(row.job_ids_json),
    )


def count(connection: Connection, principal: Principal) -> int:
    """How many tasks the workspace has."""
    return connection.execute(select(func.count()).where(download_tasks.c.workspace_id == principal.workspace_id)).scalar_one()


def page(connection: Connection, principal: Principal, *, limit: int, after: tuple[int, str] | None) -> Sequence[Row[Any]]:
    """At most `limit` tasks without their ids, newest first, `after` a place."""
    at, name = download_tasks.c.created_at, download_tasks.c.task_id
    query = select(*_SHOWN).where(download_tasks.c.workspace_id == principal.workspace_id)
    if after is not None:
        query = query.where(or_(at < after[0], and_(at == after[0], name < after[1])))
    return connection.execute(query.order_by(at.desc(), name.desc()).limit(limit)).all()


_SHOWN: list[Any] = [column for column in download_tasks.c if column.name != "job_ids_json"]


def add(connection: Connection, principal: Principal, *, values: dict[str, Any], filters: dict[str, Any], job_ids: list[str]) -> None:
    """Keep a frozen list; `values` hold task_id, group_id and created_at (microseconds)."""
    texts = {"filters_json": msgspec.json.encode(filters).decode(), "job_ids_json": msgspec.json.encode(job_ids).decode()}
    who = {"workspace_id": principal.workspace_id, "created_by": principal.user}
    connection.execute(insert(download_tasks).values(total=len(job_ids), **values, **texts, **who))
