"""Download tasks: made once from the filters of the job list, and never computed again."""

from __future__ import annotations

import secrets

import msgspec

from benchloop_client.contract.resources import DownloadTask, DownloadTaskCreate
from benchloop_server.features.downloads import repository
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.kit.errors import not_found, unprocessable
from benchloop_server.kit.facts import check_counts, check_texts
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail


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
    task_id, now = f"dl-{secrets.token_hex(10)}", services.clock()
    with services.db.write() as connection:
        groups.hold(connection, principal, asked.group_id)
        job_ids = jobs.ids(connection, principal, JobFilter(**wanted))  # type: ignore[arg-type]
        if not job_ids:
            raise unprocessable(f"no job of group {asked.group_id!r} fits these filters")
        values = {"task_id": task_id, "group_id": asked.group_id, "created_at": now}
        repository.add(connection, principal, values=values, filters=filters, job_ids=job_ids)
        trail.record(connection, principal, trail.Event("download_task.create", task_id, filters), at=now)
    return get(services, principal, task_id)
