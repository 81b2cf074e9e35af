"""What jobs did, as rows: kept with the content that was observed and the catalogue it was observed by, read in pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, delete, func, insert, or_, select, update

from benchloop_server.sql import work
from benchloop_server.sql.tables import counters, groups, job_features, jobs

#: The work of observing what an analysis did not.
KIND = "observe"
_RANK = 20

_SAME_JOB = and_(job_features.c.workspace_id == jobs.c.workspace_id, job_features.c.job_id == jobs.c.job_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the job with this content did, by the catalogue of this `version`: `features` in zstd, or with `error` why nobody can tell."""

    job_id: str
    fingerprint: str
    version: str
    features: bytes | None = None
    error: str | None = None


def keep(connection: Connection, workspace_id: str, found: Iterable[Observation], *, now: int) -> int:
    """Keep the observations of jobs that still hold what was observed; those whose row a push holds are left out. Returns how many."""
    by_id = {one.job_id: one for one in found}
    mine = (jobs.c.workspace_id == workspace_id, jobs.c.job_id.in_(list(by_id)))
    rows = connection.execute(select(jobs.c.job_id, jobs.c.fingerprint).where(*mine).with_for_update(skip_locked=True)).all()
    kept = [by_id[row.job_id] for row in rows if by_id[row.job_id].fingerprint == row.fingerprint]
    replace(connection, workspace_id, kept, now=now)
    return len(kept)


def replace(connection: Connection, workspace_id: str, kept: Sequence[Observation], *, now: int) -> None:
    """Keep the observations of jobs of which the caller knows that they hold what was observed."""
    if not kept:
        return
    these = job_features.c.job_id.in_([one.job_id for one in kept])
    connection.execute(delete(job_features).where(job_features.c.workspace_id == workspace_id, these))
    same = {"workspace_id": workspace_id, "observed_at": now}
    names = ("job_id", "fingerprint", "features", "error")
    connection.execute(
        insert(job_features), [{**same, "catalogue_version": one.version, **{name: getattr(one, name) for name in names}} for one in kept]
    )


def of_jobs(connection: Connection, workspace_id: str, job_ids: Iterable[str], *, version: str) -> dict[str, Row[Any]]:
    """(job_id, fingerprint, features, error) of those of these jobs (some hundred) that were observed by this catalogue."""
    mine = (job_features.c.workspace_id == workspace_id, job_features.c.job_id.in_(list(job_ids)))
    columns: list[Any] = [job_features.c.job_id, job_features.c.fingerprint, job_features.c.features, job_features.c.error]
    rows = connection.execute(select(*columns).where(*mine, job_features.c.catalogue_version == version))
    return {row.job_id: row for row in rows}


def known(connection: Connection, workspace_id: str, job_ids: Iterable[str], *, version: str) -> dict[str, str]:
    """Job → the content that was observed, as `of_jobs` but without reading the observations."""
    mine = (job_features.c.workspace_id == workspace_id, job_features.c.job_id.in_(list(job_ids)))
    query = select(job_features.c.job_id, job_features.c.fingerprint).where(*mine, job_features.c.catalogue_version == version)
    return {row.job_id: row.fingerprint for row in connection.execute(query)}


def unobserved(
    connection: Connection, workspace_id: str, group_id: str, *, version: str, after: tuple[str, str] | None, limit: int
) -> Sequence[Row[Any]]:
    """(task_id, job_id) of the next jobs with a trajectory that were not observed by this catalogue, `after` that task and id."""
    columns: list[Any] = [jobs.c.task_id, jobs.c.job_id]
    query = _unobserved(columns, workspace_id, group_id, version)
    if after is not None:
        task_id, job_id = after
        later = or_(jobs.c.task_id > task_id, and_(jobs.c.task_id == task_id, jobs.c.job_id > job_id))
        query = query.where(later, jobs.c.task_id >= task_id)
    return connection.execute(query.order_by(jobs.c.task_id, jobs.c.job_id).limit(limit)).all()


def count_unobserved(connection: Connection, workspace_id: str, group_id: str, *, version: str) -> int:
    """How many jobs with a trajectory were not observed by this catalogue."""
    return int(connection.execute(_unobserved([func.count()], workspace_id, group_id, version)).scalar_one())


def _unobserved(columns: list[Any], workspace_id: str, group_id: str, version: str) -> Select[Any]:
    missing = or_(
        job_features.c.job_id.is_(None), job_features.c.catalogue_version != version, job_features.c.fingerprint != jobs.c.fingerprint
    )
    mine = (jobs.c.workspace_id == workspace_id, jobs.c.group_id == group_id, jobs.c.trajectory_sha256.is_not(None))
    return select(*columns).select_from(jobs.outerjoin(job_features, _SAME_JOB)).where(*mine, missing)


def wish_after_upgrade(connection: Connection, *, program: int, now: int) -> int:
    """Have every group looked through by the worker where another `program` was the last to have that done; returns how many there are.

    The catalogue's own version is not asked for, because a server loads no analysis.
    """
    mine = counters.c.name == "observed_by"
    if connection.execute(select(counters.c.value).where(mine).with_for_update()).scalar() == program:
        return 0
    connection.execute(update(counters).where(mine).values(value=program))
    rows = connection.execute(select(groups.c.workspace_id, groups.c.group_id)).all()
    for row in rows:
        work.enqueue(connection, work.Wish(workspace_id=row.workspace_id, kind=KIND, key=row.group_id, rank=_RANK), now=now)
    return len(rows)
