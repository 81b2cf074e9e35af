"""Download tasks: made once from the filters of the job list, and never computed again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from benchloop_client.contract.resources import DownloadTask, DownloadTaskCreate
from benchloop_server.features.downloads import repository
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.kit import cursors
from benchloop_server.kit.clock import format_time
from benchloop_server.kit.conditions import Conditions
from benchloop_server.kit.db import Row
from benchloop_server.kit.errors import not_found, unprocessable
from benchloop_server.kit.facts import check_counts, check_texts
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A download task without its ids."""

    task_id: str
    group_id: str
    total: int
    filters: dict[str, Any]
    created_at: str
    created_by: str | None


class Tasks(msgspec.Struct, frozen=True, kw_only=True):
    """A page of them, of `total`."""

    total: int
    rows: list[Task]
    next_cursor: str | None


def get(services: Services, principal: Principal, task_id: str) -> DownloadTask:
    """The frozen list. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        task = repository.find(connection, principal, task_id)
    if task is None:
        raise not_found("download task", task_id)
    return task


def create(services: Services, principal: Principal, asked: DownloadTaskCreate) -> DownloadTask:
    """Freeze the ids of the jobs that fit now. Raises `DomainError`: 404 for the group, 422 when no job fits."""
    wanted: dict[str, str | int | bool | None] = msgspec.structs.asdict(asked)
    check_texts("the download task", [(name, value) for name, value in wanted.items() if isinstance(value, str)])
    check_counts("the download task", [("step", asked.step if isinstance(asked.step, int) else None)])
    filters = {name: value for name, value in wanted.items() if value is not None}
    return get(services, principal, freeze(services, principal, asked.group_id, JobFilter(**wanted), filters=filters))  # type: ignore[arg-type]


def freeze(services: Services, principal: Principal, group_id: str, wanted: JobFilter | Conditions, *, filters: Mapping[str, Any]) -> str:
    """Keep the ids of the jobs of the group that fit now; the new task's id. `filters`: how they were asked for, to be shown.

    Raises `DomainError`: 404 for the group, 422 when no job fits.
    """
    task_id, now = f"dl-{secrets.token_hex(10)}", services.clock()
    with services.db.write() as connection:
        groups.hold(connection, principal, group_id)
        job_ids = jobs.ids(connection, principal, wanted)
        if not job_ids:
            raise unprocessable(f"no job of group {group_id!r} fits these filters")
        values = {"task_id": task_id, "group_id": group_id, "created_at": now}
        repository.add(connection, principal, values=values, filters=dict(filters), job_ids=job_ids)
        trail.record(connection, principal, trail.Event("download_task.create", task_id, dict(filters)), at=now)
    return task_id


def listed(services: Services, principal: Principal, *, limit: int, cursor: str | None) -> Tasks:
    """A page of the workspace's tasks, newest first. Raises `DomainError` (400) for a cursor that is none."""
    after = cursors.unpack(cursor) if cursor else None
    with services.db.read() as connection:
        total = repository.count(connection, principal)
        rows = repository.page(connection, principal, limit=limit + 1, after=after)
    kept = list(rows[:limit])
    more = cursors.pack(kept[-1].created_at, kept[-1].task_id) if len(rows) > limit else None
    shown = [_row(row) for row in kept]
    return Tasks(total=total, rows=shown, next_cursor=more)


def _row(row: Row[Any]) -> Task:
    return Task(
        task_id=row.task_id,
        group_id=row.group_id,
        total=row.total,
        filters=msgspec.json.decode(row.filters_json),
        created_at=format_time(row.created_at),
        created_by=row.created_by,
    )
