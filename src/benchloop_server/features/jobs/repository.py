"""The rows of jobs: read under a principal, written in batches. `created_at` is handed out here, strictly increasing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.sql import ColumnElement

from benchloop_server.features.jobs.attempts import Numbered
from benchloop_server.features.jobs.contents import Details, Upload
from benchloop_server.kit.conditions import Conditions
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.job_facts import matching
from benchloop_server.sql.tables import counters, job_media, job_rewards, jobs, uploads

JobRow = Row[Any]
T = TypeVar("T")

_CHUNK = 1_000
_HEAVY = {"phases_json", "source_json", "meta_json"}
_LISTED = [column for column in jobs.c if column.name not in _HEAVY]


def find(connection: Connection, principal: Principal, job_id: str) -> JobRow | None:
    """The job with all of its columns, if it is in the caller's workspace."""
    return connection.execute(select(jobs).where(*matching(principal, {"job_id": job_id}))).one_or_none()


def count(connection: Connection, principal: Principal, conditions: Conditions) -> int:
    """How many jobs fit."""
    return connection.execute(select(func.count()).select_from(jobs).where(*matching(principal, conditions))).scalar_one()


def page(
    connection: Connection,
    principal: Principal,
    *,
    conditions: Conditions,
    limit: int,
    skip: int = 0,
    after: tuple[int, str] | None = None,
) -> Sequence[JobRow]:
    """At most `limit` jobs in list order, `skip` rows from the start or right `after` a place. Without the heavy JSON columns."""
    query = _in_order(select(*_LISTED).where(*matching(principal, conditions)))
    if after is not None:
        created_at, job_id = after
        same = and_(jobs.c.created_at == created_at, jobs.c.job_id > job_id)
        query = query.where(or_(jobs.c.created_at > created_at, same), jobs.c.created_at >= created_at)
    return connection.execute(query.limit(limit).offset(skip or None)).all()


def whole(
    connection: Connection, principal: Principal, *, group_id: str, job_ids: Iterable[str] | None
) -> Iterator[tuple[str, JobRow | None]]:
    """(id, the job with all of its columns) for a group in list order, or for these ids in their order; read in pages."""
    if job_ids is None:
        query = _in_order(select(jobs).where(*matching(principal, {"group_id": group_id})))
        for row in connection.execution_options(yield_per=_CHUNK).execute(query):
            yield row.job_id, row
        return
    for chunk in chunks(job_ids):
        rows = connection.execute(select(jobs).where(jobs.c.workspace_id == principal.workspace_id, jobs.c.job_id.in_(chunk)))
        found = {row.job_id: row for row in rows}
        yield from ((job_id, found.get(job_id)) for job_id in chunk)


def ids(connection: Connection, principal: Principal, conditions: Conditions) -> list[str]:
    """The ids of all jobs that fit, in list order."""
    query = _in_order(select(jobs.c.job_id).where(*matching(principal, conditions)))
    return list(connection.execute(query).scalars())


def fingerprints(connection: Connection, principal: Principal, conditions: Conditions) -> Iterator[tuple[str, str]]:
    """(job_id, fingerprint) of all jobs that fit, by id."""
    query = select(jobs.c.job_id, jobs.c.fingerprint).where(*matching(principal, conditions)).order_by(jobs.c.job_id)
    for row in connection.execute(query):
        yield row.job_id, row.fingerprint


def states(connection: Connection, principal: Principal, job_ids: Iterable[str]) -> dict[str, JobRow]:
    """Id → (job_id, group_id, fingerprint, task_id, attempt) of those that exist."""
    columns = (jobs.c.job_id, jobs.c.group_id, jobs.c.fingerprint, jobs.c.task_id, jobs.c.attempt)
    found: dict[str, JobRow] = {}
    for chunk in chunks(job_ids):
        query = select(*columns).where(jobs.c.workspace_id == principal.workspace_id, jobs.c.job_id.in_(chunk))
        found |= {row.job_id: row for row in connection.execute(query)}
    return found


def uploads_named(connection: Connection, principal: Principal, kind: str, hashes: Iterable[str]) -> Iterator[Upload]:
    """Those of the hashes that were uploaded to the caller's workspace."""
    names = ("kind", "sha256", "size", "stored_size", "info_json")
    columns = [uploads.c[name] for name in (*names, "unused_since")]
    for chunk in chunks(sorted(hashes)):
        for row in connection.execute(select(*columns).where(*_uploads(principal, kind, chunk))):
            yield Upload(**{name: getattr(row, name) for name in names}, forsaken=row.unused_since is not None)


def count_on(connection: Connection, principal: Principal, kind: str, hashes: Iterable[str]) -> None:
    """Take the marks of being unused from these uploads: a job is about to name them."""
    for chunk in chunks(sorted(hashes)):
        connection.execute(update(uploads).where(*_uploads(principal, kind, chunk)).values(unused_since=None))


def take_times(connection: Connection, count: int, *, now: int) -> int:
    """The first of `count` consecutive microseconds that nobody got before, at or after `now`. Holds the counter until the commit, so
    that the order of creation times is the order in which readers see the rows, whatever the number of writing processes.
    """
    query = select(counters.c.value).where(counters.c.name == "created_at").with_for_update()
    last = connection.execute(query).scalar_one()
    first: int = max(last + 1, now)
    connection.execute(update(counters).where(counters.c.name == "created_at").values(value=first + count - 1))
    return first


def add(connection: Connection, principal: Principal, rows: list[dict[str, Any]]) -> None:
    """Insert jobs; `rows` hold every column but the workspace and the writer."""
    if rows:
        who = {"workspace_id": principal.workspace_id, "written_by": principal.user}
        connection.execute(insert(jobs), [{**row, **who} for row in rows])


def replace(connection: Connection, principal: Principal, rows: list[dict[str, Any]]) -> None:
    """Update jobs whole; `created_at` stays, and so does a number that `rows` do not hold."""
    if rows:
        names = [name for name in rows[0] if name != "job_id"]
        mine = (jobs.c.workspace_id == principal.workspace_id, jobs.c.job_id == bindparam("b_job_id"))
        query = update(jobs).where(*mine).values(written_by=principal.user, **{name: bindparam(f"b_{name}") for name in names})
        connection.execute(query, [{f"b_{name}": value for name, value in row.items()} for row in rows])


def put_details(connection: Connection, principal: Principal, job_ids: list[str], *, details: Details) -> None:
    """Replace the rewards and media of these jobs."""
    for chunk in chunks(job_ids):
        for table in (job_rewards, job_media):
            connection.execute(delete(table).where(table.c.workspace_id == principal.workspace_id, table.c.job_id.in_(chunk)))
    for table, rows in ((job_rewards, details.rewards), (job_media, details.media)):
        if rows:
            connection.execute(insert(table), [{"workspace_id": principal.workspace_id, **row} for row in rows])


def numbered(connection: Connection, principal: Principal, group_id: str, *, task_ids: Iterable[str]) -> Iterator[Numbered]:
    """Every job of these tasks of the group, as the numbering needs it."""
    columns = [jobs.c[name] for name in Numbered._fields]
    for chunk in chunks(sorted(task_ids)):
        query = select(*columns).where(*matching(principal, {"group_id": group_id}), jobs.c.task_id.in_(chunk))
        yield from map(Numbered._make, connection.execute(query))


def set_attempts(connection: Connection, principal: Principal, attempts: dict[str, int]) -> None:
    """Give jobs their numbers."""
    if attempts:
        mine = (jobs.c.workspace_id == principal.workspace_id, jobs.c.job_id == bindparam("b_job_id"))
        query = update(jobs).where(*mine).values(attempt=bindparam("b_attempt"))
        connection.execute(query, [{"b_job_id": job_id, "b_attempt": number} for job_id, number in attempts.items()])


def chunks(items: Iterable[T], size: int = _CHUNK) -> Iterator[list[T]]:
    """`items` in lists of at most `size`: databases bound the number of values in one statement."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _uploads(principal: Principal, kind: str, hashes: list[str]) -> tuple[ColumnElement[bool], ...]:
    return uploads.c.workspace_id == principal.workspace_id, uploads.c.kind == kind, uploads.c.sha256.in_(hashes)


def _in_order(query: Select[Any]) -> Select[Any]:
    return query.order_by(jobs.c.created_at, jobs.c.job_id)
