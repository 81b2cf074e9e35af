"""The job list in SQL: keyset paging in any order, counts by any fact, and the numbers beside a selection.

A page is read in two steps: places first, from what the index `ix_jobs_listed` holds, then the few rows whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, literal_column, or_, select

from benchloop_server.kit.conditions import Conditions
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.job_facts import TASK, fact, matching
from benchloop_server.sql.tables import jobs

_HEAVY = {"phases_json", "source_json", "meta_json"}
_LISTED = [column for column in jobs.c if column.name not in _HEAVY]
_CHUNK = 1_000

Place = tuple[Any, int]
Where = list[ColumnElement[bool]]


def places(
    connection: Connection,
    where: Where,
    *,
    order: str,
    descending: bool,
    limit: int,
    beyond: Place | None = None,
    backwards: bool = False,
) -> Sequence[Row[Any]]:
    """At most `limit` (value, created_at, job_id) in order, from right behind (`backwards`: before) a place. Without a value: last."""
    value, created = fact(order), jobs.c.created_at
    columns: list[Any] = [value.label("value"), created, jobs.c.job_id]
    query: Select[Any] = select(*columns).where(*where)
    if order == "created_at":
        turned = descending != backwards
        query = query.order_by(created.desc() if turned else created)
        if beyond is not None:
            query = query.where(created < beyond[1] if turned else created > beyond[1])
        return connection.execute(query.limit(limit)).all()
    if beyond is not None:
        query = query.where(_beyond(value, beyond, descending=descending, backwards=backwards))
    missing = case((value.is_(None), 1), else_=0)
    ordered: tuple[Any, ...]
    if backwards:
        ordered = (missing.desc(), value if descending else value.desc(), created.desc())
    else:
        ordered = (missing, value.desc() if descending else value, created)
    return connection.execute(query.order_by(*ordered).limit(limit)).all()


def _beyond(value: ColumnElement[Any], place: Place, *, descending: bool, backwards: bool) -> ColumnElement[bool]:
    at, since = place
    created = jobs.c.created_at
    if backwards:
        if at is None:
            return or_(value.is_not(None), and_(value.is_(None), created < since))
        return or_(value > at if descending else value < at, and_(value == at, created < since))
    if at is None:
        return and_(value.is_(None), created > since)
    return or_(value < at if descending else value > at, and_(value == at, created > since), value.is_(None))


def rows(connection: Connection, principal: Principal, job_ids: Sequence[str]) -> list[Row[Any]]:
    """The rows of these jobs in this order, without the heavy JSON columns; those that are gone are left out."""
    query = select(*_LISTED).where(jobs.c.workspace_id == principal.workspace_id, jobs.c.job_id.in_(job_ids))
    found = {row.job_id: row for row in connection.execute(query)}
    return [found[job_id] for job_id in job_ids if job_id in found]


def count(connection: Connection, where: Where) -> int:
    """How many jobs fit."""
    return connection.execute(select(func.count()).select_from(jobs).where(*where)).scalar_one()


def values(connection: Connection, where: Where, name: str, *, limit: int, part: str = "") -> list[tuple[Any, int]]:
    """The values of a fact with how many jobs have each, the most frequent first (steps: in order); `part` has to be in the value."""
    value, number = TASK if name == "task_id" else fact(name), func.count().label("number")
    query = select(value.label("value"), number).where(*where).group_by(value)
    if part:
        pattern = "%" + part.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = query.where(func.lower(value).like(pattern, escape="\\"))
    order = (value.is_(None), value) if name == "step" else (number.desc(), value)
    return [(row.value, int(row.number)) for row in connection.execute(query.order_by(*order).limit(limit))]


def extent(connection: Connection, where: Where, name: str) -> tuple[int, float | None, float | None, int]:
    """(jobs with a number, smallest, largest, jobs without) of a fact."""
    value = fact(name)
    row = connection.execute(select(func.count(value), func.min(value), func.max(value), func.count()).where(*where)).one()
    known, low, high, all_of_them = row
    return known, _real(low), _real(high), all_of_them - known


def histogram(connection: Connection, where: Where, name: str, *, edges: Sequence[float]) -> list[int]:
    """How many jobs lie below each edge and not below the one before; the last number counts those from the last edge on."""
    value = fact(name)
    bucket = _bucket(value, edges, 0).label("bucket")
    found = [0] * (len(edges) + 1)
    for row in connection.execute(select(bucket, func.count().label("number")).where(*where, value.is_not(None)).group_by(bucket)):
        found[row.bucket] = int(row.number)
    return found


def _bucket(value: ColumnElement[Any], edges: Sequence[float], first: int) -> ColumnElement[Any]:
    """The number of the bar, found by halving: a list of cases would be gone through for every row."""
    if not edges:
        return literal_column(str(first))
    middle = len(edges) // 2
    below, above = _bucket(value, edges[:middle], first), _bucket(value, edges[middle + 1 :], first + middle + 1)
    return case((value < edges[middle], below), else_=above)


def sizes(connection: Connection, principal: Principal, job_ids: Iterable[str]) -> tuple[int, int, int, int, int]:
    """(jobs still there, with trajectory, bytes of the documents, with artifacts, bytes of the archives) of these jobs."""
    total = [0, 0, 0, 0, 0]
    for chunk in _chunks(job_ids):
        columns: list[Any] = [func.count(), func.count(jobs.c.trajectory_sha256), func.sum(jobs.c.trajectory_bytes)]
        columns += [func.count(jobs.c.archive_sha256), func.sum(jobs.c.artifact_bytes)]
        query = select(*columns).where(jobs.c.workspace_id == principal.workspace_id, jobs.c.job_id.in_(chunk))
        row = connection.execute(query).one()
        total = [before + int(found or 0) for before, found in zip(total, row, strict=True)]
    return total[0], total[1], total[2], total[3], total[4]


def attempts(connection: Connection, principal: Principal, group_id: str, *, task_ids: Sequence[str], limit: int) -> Sequence[Row[Any]]:
    """(job_id, task_id, step, attempt, status, outcome, reward, reward_valid, fail_reason, sub_fail_reason, model) of these tasks'
    jobs, by task, step and attempt; at most `limit` of each task.
    """
    names = (
        "job_id",
        "task_id",
        "step",
        "attempt",
        "status",
        "outcome",
        "reward",
        "reward_valid",
        "fail_reason",
        "sub_fail_reason",
        "model",
    )
    place = func.row_number().over(partition_by=jobs.c.task_id, order_by=(jobs.c.step, jobs.c.attempt, jobs.c.job_id)).label("place")
    mine = matching(principal, {"group_id": group_id})
    inner = select(*(jobs.c[name] for name in names), place).where(*mine, jobs.c.task_id.in_(task_ids)).subquery()
    query = select(inner).where(inner.c.place <= limit).order_by(inner.c.task_id, inner.c.place)
    return connection.execute(query).all()


def crossed(connection: Connection, where: Where, name: str, *, task_ids: Sequence[str]) -> Sequence[Row[Any]]:
    """(task_id, value, attempts, passed) of these tasks by another fact."""
    ended = jobs.c.outcome.in_(("passed", "partial", "failed", "errored"))
    tried = func.sum(case((ended, 1), else_=0)).label("attempts")
    passed = func.sum(case((jobs.c.outcome == "passed", 1), else_=0)).label("passed")
    value = fact(name).label("value")
    columns: list[Any] = [jobs.c.task_id, value, tried, passed]
    query: Select[Any] = select(*columns).where(*where, jobs.c.task_id.in_(task_ids))
    return connection.execute(query.group_by(jobs.c.task_id, fact(name))).all()


def where_of(principal: Principal, conditions: Conditions) -> Where:
    """The WHERE of the list."""
    return matching(principal, conditions)


def _chunks(items: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


def _real(value: Any) -> float | None:
    return None if value is None else float(value)
