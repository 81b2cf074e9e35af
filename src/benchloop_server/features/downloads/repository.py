"""The rows of download tasks."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, insert, select

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


def add(connection: Connection, principal: Principal, *, values: dict[str, Any], filters: dict[str, Any], job_ids: list[str]) -> None:
    """Keep a frozen list; `values` hold task_id, group_id and created_at (microseconds)."""
    texts = {"filters_json": msgspec.json.encode(filters).decode(), "job_ids_json": msgspec.json.encode(job_ids).decode()}
    who = {"workspace_id": principal.workspace_id, "created_by": principal.user}
    connection.execute(insert(download_tasks).values(total=len(job_ids), **values, **texts, **who))
