"""A push of jobs: what would become of each, and the batch that makes it so, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchloop_client.contract.resources import Fingerprint, JobsCheck, JobState, JobStates, JobsUpsert, JobUpsert, State
from benchloop_server.features.analysis import service as analysis
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import attempts, contents, facts, repository
from benchloop_server.features.jobs.repository import JobRow
from benchloop_server.features.packing import service as packing
from benchloop_server.kit.db import Connection
from benchloop_server.kit.errors import conflict, unprocessable
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail


def check(services: Services, principal: Principal, group_id: str, *, asked: JobsCheck) -> JobStates:
    """What a push of these fingerprints would do. Raises `DomainError`: 404 for the group, 409 for a job of another group."""
    _check_batch(asked.jobs, limit=services.limits.jobs_in_check)
    with services.db.read() as connection:
        groups.require(connection, principal, group_id)
        existing = repository.states(connection, principal, (job.job_id for job in asked.jobs))
    return _answer(group_id, asked.jobs, existing)


def put(services: Services, principal: Principal, group_id: str, *, batch: JobsUpsert) -> JobStates:
    """Create or replace the jobs of a batch in one transaction; those with an equal fingerprint stay as they are.

    Raises `DomainError` naming the job, with nothing changed: 404 group, 409 unknown upload or job of another group, 422 anything else.
    """
    _check_batch(batch.jobs, limit=services.limits.jobs_in_batch)
    for job in batch.jobs:
        facts.check(job)
    with services.db.write() as connection:
        groups.hold(connection, principal, group_id)
        # Before anything is compared: on PostgreSQL this makes writers wait for each other, as SQLite's writing transaction does.
        first = repository.take_times(connection, len(batch.jobs) or 1, now=services.clock())
        existing = repository.states(connection, principal, (job.job_id for job in batch.jobs))
        answer = _answer(group_id, batch.jobs, existing)
        states: dict[str, State] = {result.job_id: result.state for result in answer.results}
        changed = [job for job in batch.jobs if states[job.job_id] != "unchanged"]
        if changed:
            _write(connection, principal, group_id, _Change(jobs=changed, existing=existing, first_time=first))
            packing.after_push(services, connection, principal, group_id=group_id, now=services.clock())
            analysis.after_push(connection, principal, group_id=group_id, now=services.clock())
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """The new and updated jobs of a batch, the rows that exist, and the first of the creation times taken for it."""

    jobs: list[JobUpsert]
    existing: dict[str, JobRow]
    first_time: int


def _write(connection: Connection, principal: Principal, group_id: str, change: _Change) -> None:
    rows = _rows(connection, principal, group_id, change)
    new = [row for row in rows if row["job_id"] not in change.existing]
    old = [row for row in rows if row["job_id"] in change.existing]
    for number, row in enumerate(new):
        created_at = change.first_time + number
        row |= {"created_at": created_at, "updated_at": created_at, "attempt": 0}
    repository.add(connection, principal, new)
    repository.replace(connection, principal, old)
    repository.put_details(connection, principal, [row["job_id"] for row in old], details=contents.details_of(change.jobs))
    tasks = {row["task_id"] for row in rows} | {row.task_id for row in change.existing.values()}
    numbered = repository.numbered(connection, principal, group_id, task_ids=tasks)
    repository.set_attempts(connection, principal, attempts.renumber(numbered))
    groups.touch(connection, principal, group_id, now=change.first_time)
    event = trail.Event("jobs.put", group_id, {"new": len(new), "updated": len(old)})
    trail.record(connection, principal, event, at=change.first_time)


def _rows(connection: Connection, principal: Principal, group_id: str, change: _Change) -> list[dict[str, Any]]:
    uploads: dict[tuple[str, str], contents.Upload] = {}
    for kind, hashes in contents.named_by(change.jobs).items():
        found = list(repository.uploads_named(connection, principal, kind, hashes))
        repository.count_on(connection, principal, kind, (upload.sha256 for upload in found if upload.forsaken))
        uploads |= {(kind, upload.sha256): upload for upload in found}
    return [{"job_id": job.job_id, "updated_at": change.first_time, **facts.row_of(job, group_id, uploads=uploads)} for job in change.jobs]


def _check_batch(jobs: Sequence[Fingerprint | JobUpsert], *, limit: int) -> None:
    if len(jobs) > limit:
        raise unprocessable(f"a batch holds at most {limit} jobs, not {len(jobs)}")
    seen: set[str] = set()
    for job in jobs:
        if job.job_id in seen:
            raise unprocessable(f"job {job.job_id!r} is in the batch twice")
        if "\0" in job.job_id:
            raise unprocessable(f"job {job.job_id!r}: an id cannot hold NUL")
        seen.add(job.job_id)


def _answer(group_id: str, jobs: Iterable[Fingerprint | JobUpsert], existing: dict[str, JobRow]) -> JobStates:
    return JobStates(group_id=group_id, results=[_state(group_id, job, existing.get(job.job_id)) for job in jobs])


def _state(group_id: str, job: Fingerprint | JobUpsert, row: JobRow | None) -> JobState:
    if row is None:
        return JobState(job_id=job.job_id, state="new")
    if row.group_id != group_id:
        raise conflict(f"job {job.job_id!r} belongs to group {row.group_id!r}, not to {group_id!r}")
    return JobState(job_id=job.job_id, state="unchanged" if row.fingerprint == job.fingerprint else "updated")
