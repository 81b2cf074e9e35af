"""Jobs as they are read: one, a page, all ids. Other features look jobs up here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchloop_client.contract.resources import Job, JobPage
from benchloop_client.contract.summaries import JobIds, JobMeta
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import repository, shapes
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.features.jobs.repository import JobRow
from benchloop_server.kit import cursors
from benchloop_server.kit.conditions import Conditions
from benchloop_server.kit.db import Connection
from benchloop_server.kit.errors import bad_request, not_found
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which part of a list: `skip` rows from its start, or right after `cursor`."""

    limit: int
    skip: int = 0
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A part of the job list, `total` rows under the same filters, and the place of the next part (None: this was the last)."""

    rows: list[JobRow]
    total: int
    next_cursor: str | None


def find(connection: Connection, principal: Principal, job_id: str) -> JobRow:
    """The job's row with all of its columns. Raises `DomainError` (404)."""
    row = repository.find(connection, principal, job_id)
    if row is None:
        raise not_found("job", job_id)
    return row


def exists(connection: Connection, principal: Principal, job_id: str) -> bool:
    """Whether the caller's workspace has the job."""
    return repository.count(connection, principal, {"job_id": job_id}) > 0


def get(services: Services, principal: Principal, job_id: str) -> Job:
    """One job. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        return shapes.job_of(find(connection, principal, job_id))


def meta(services: Services, principal: Principal, job_id: str) -> JobMeta:
    """What the source said about the job. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        return shapes.meta_of(find(connection, principal, job_id))


def meta_texts(
    connection: Connection, principal: Principal, *, group_id: str, job_ids: Iterable[str] | None = None
) -> Iterator[tuple[str, bytes | None]]:
    """(id, E29 as it is sent) of every job of a group in list order, or of the jobs with these ids, None for one that is not there; read
    in pages inside the caller's transaction.
    """
    for job_id, row in repository.whole(connection, principal, group_id=group_id, job_ids=job_ids):
        yield job_id, None if row is None else shapes.meta_text(row)


def window(connection: Connection, principal: Principal, wanted: JobFilter, *, window: Window) -> Rows:
    """A part of the job list, inside the caller's transaction. Raises `DomainError` (400) for an unusable cursor or filter."""
    if window.cursor is not None and window.skip:
        raise bad_request("`cursor` and `skip` exclude each other")
    after = cursors.unpack(window.cursor) if window.cursor is not None else None
    conditions = wanted.conditions()
    total = repository.count(connection, principal, conditions)
    rows = repository.page(connection, principal, conditions=conditions, limit=window.limit + 1, skip=window.skip, after=after)
    kept = list(rows[: window.limit])
    more = cursors.pack(kept[-1].created_at, kept[-1].job_id) if len(rows) > window.limit else None
    return Rows(rows=kept, total=total, next_cursor=more)


def page(services: Services, principal: Principal, wanted: JobFilter, *, part: Window) -> JobPage:
    """One page of the job list; an unknown group has an empty one."""
    with services.db.read() as connection:
        found = window(connection, principal, wanted, window=part)
    return JobPage(
        group_id=wanted.group_id,
        total=found.total,
        skip=part.skip,
        limit=part.limit,
        jobs=[shapes.job_of(row) for row in found.rows],
        next_cursor=found.next_cursor,
    )


def ids(connection: Connection, principal: Principal, wanted: JobFilter | Conditions) -> list[str]:
    """The ids of all jobs that fit, in list order."""
    return repository.ids(connection, principal, wanted.conditions() if isinstance(wanted, JobFilter) else wanted)


def digest(connection: Connection, principal: Principal, wanted: JobFilter) -> str:
    """SHA-256 (hex) over the ids and contents of all jobs that fit: the same exactly while the same jobs hold the same."""
    found = hashlib.sha256()
    for job_id, fingerprint in repository.fingerprints(connection, principal, wanted.conditions()):
        found.update(f"{job_id}\0{fingerprint}\0".encode())
    return found.hexdigest()


def group_ids(services: Services, principal: Principal, group_id: str) -> JobIds:
    """The ids of every job of a group. Raises `DomainError` (404) for an unknown group."""
    with services.db.read() as connection:
        groups.require(connection, principal, group_id)
        found = ids(connection, principal, JobFilter(group_id=group_id))
    return JobIds(group_id=group_id, total=len(found), job_ids=found)
