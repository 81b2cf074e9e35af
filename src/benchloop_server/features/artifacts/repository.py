"""Where a job's archive lies in the blob store, and the archives of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, bindparam, func, or_, select

from benchloop_server.kit.principal import Principal
from benchloop_server.sql.places import INDEX, PLACE
from benchloop_server.sql.tables import jobs, uploads

_SAME = and_(uploads.c.workspace_id == jobs.c.workspace_id, uploads.c.kind == "archive", uploads.c.sha256 == jobs.c.archive_sha256)
_COLUMNS: list[Any] = [
    jobs.c.job_id,
    jobs.c.group_id,
    jobs.c.created_at,
    jobs.c.archive_sha256.label("sha256"),
    uploads.c.size,
    *PLACE,
    *INDEX,
    uploads.c.info_json,
]
#: Made once: a statement costs more to make than to run.
_ARCHIVE = (
    select(*_COLUMNS)
    .select_from(jobs.outerjoin(uploads, _SAME))
    .where(jobs.c.workspace_id == bindparam("workspace"), jobs.c.job_id == bindparam("job"))
)


def archive(connection: Connection, principal: Principal, job_id: str) -> Row[Any] | None:
    """The job with its archive (`_COLUMNS`); `sha256` is null for a job without one, None without a job."""
    return connection.execute(_ARCHIVE, {"workspace": principal.workspace_id, "job": job_id}).one_or_none()


def count(connection: Connection, principal: Principal, group_id: str) -> int:
    """How many jobs of the group have an archive."""
    return connection.execute(select(func.count()).select_from(jobs).where(*_of_group(principal, group_id))).scalar_one()


def page(
    connection: Connection, principal: Principal, group_id: str, *, limit: int, skip: int, after: tuple[int, str] | None
) -> Sequence[Row[Any]]:
    """At most `limit` jobs with an archive in the order of the job list, `skip` rows from the start or right `after` a place. Archives are
    looked up only for these.
    """
    query: Select[Any] = select(jobs.c.workspace_id, jobs.c.job_id).where(*_of_group(principal, group_id))
    if after is not None:
        created_at, job_id = after
        later = or_(jobs.c.created_at > created_at, and_(jobs.c.created_at == created_at, jobs.c.job_id > job_id))
        query = query.where(later, jobs.c.created_at >= created_at)
    some = query.order_by(jobs.c.created_at, jobs.c.job_id).limit(limit).offset(skip or None).subquery()
    same = and_(jobs.c.workspace_id == some.c.workspace_id, jobs.c.job_id == some.c.job_id)
    joined = some.join(jobs, same).join(uploads, _SAME)
    return connection.execute(select(*_COLUMNS).select_from(joined).order_by(jobs.c.created_at, jobs.c.job_id)).all()


def _of_group(principal: Principal, group_id: str) -> tuple[Any, ...]:
    return jobs.c.workspace_id == principal.workspace_id, jobs.c.group_id == group_id, jobs.c.archive_sha256.is_not(None)
