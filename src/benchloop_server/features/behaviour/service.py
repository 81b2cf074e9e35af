"""Behaviour tasks: made once for equal wishes over equal data, listed, and looked at.

Because an equal wish answers with the task that is there, a client may repeat the request, with or without an idempotency key.
"""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from benchloop_client.contract.analysis import (
    CANCELLED,
    FAILED,
    QUEUED,
    RUNNING,
    SUCCEEDED,
    BehaviorAnalysis,
    BehaviorSteps,
    BehaviorTask,
    BehaviorTaskCreate,
    BehaviorTasks,
    Progress,
)
from benchloop_client.contract.compression import decode
from benchloop_server.features.behaviour import repository
from benchloop_server.features.behaviour.asking import Plan, mode_of, plan_of
from benchloop_server.features.behaviour.repository import TaskRow
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.kit.clock import format_optional, format_time
from benchloop_server.kit.db import Connection
from benchloop_server.kit.errors import not_found
from benchloop_server.kit.facts import check_texts
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail, work
from benchloop_server.sql.work import Standing

KIND, RESULT = "study", "result"
_RANK, _PAGE = 0, 500
_NOTHING: dict[str, Any] = {"summary": None, "categoryScores": [], "behaviorPatterns": []}
_WORDS = {"pending": QUEUED, "done": SUCCEEDED, "failed": FAILED, "cancelled": CANCELLED}


def steps(services: Services, principal: Principal, group_id: str) -> BehaviorSteps:
    """E30. Raises `DomainError` (404)."""
    group = groups.get(services, principal, group_id)
    return BehaviorSteps(group_id=group_id, steps=group.steps, sampling_mode=mode_of(group), has_step=bool(group.steps))


def create(services: Services, principal: Principal, asked: BehaviorTaskCreate) -> BehaviorTask:
    """E31. Raises `DomainError`: 404 for the group, 422 for what cannot be asked of it."""
    check_texts("the behaviour task", [("groupId", asked.group_id)])
    now = services.clock()
    with services.db.write() as connection:
        groups.hold(connection, principal, asked.group_id)
        plan = plan_of(asked, groups.find(connection, principal, asked.group_id))
        data_digest = jobs.digest(connection, principal, _looked_at(plan))
        row = repository.live(connection, principal, plan.live_key(data_digest))
        uid = f"brm-{secrets.token_hex(10)}" if row is None else row.uid
        if row is None:
            repository.add(connection, principal, plan, data_digest=data_digest, uid=uid, now=now)
            work.enqueue(connection, work.Wish(workspace_id=principal.workspace_id, kind=KIND, key=uid, rank=_RANK), now=now)
            trail.record(connection, principal, trail.Event("behaviour.request", uid, {"group_id": plan.group_id}), at=now)
        return _read(connection, principal, uid)


def cancel(services: Services, principal: Principal, uid: str) -> BehaviorTask:
    """End a task that has not ended; one that has stays as it is. Raises `DomainError` (404)."""
    now = services.clock()
    with services.db.write() as connection:
        _find(connection, principal, uid)
        # Before the task's own row, as workers do.
        work.cancel(connection, principal.workspace_id, KIND, key=uid, now=now)
        if repository.end(connection, principal.workspace_id, uid, state="cancelled", now=now):
            trail.record(connection, principal, trail.Event("behaviour.cancel", uid), at=now)
        return _read(connection, principal, uid)


def listed(services: Services, principal: Principal, group_id: str) -> BehaviorTasks:
    """E32. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        groups.require(connection, principal, group_id)
        rows = repository.of_group(connection, principal, group_id)
        standings: dict[str, Standing] = {}
        for at in range(0, len(rows), _PAGE):
            uids = [row.uid for row in rows[at : at + _PAGE]]
            standings |= work.standing(connection, principal.workspace_id, KIND, keys=uids)
    tasks = [_task(row, standings.get(row.uid)) for row in rows]
    return BehaviorTasks(group_id=group_id, total=len(tasks), tasks=tasks)


def get(services: Services, principal: Principal, uid: str) -> BehaviorTask:
    """E33. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        return _read(connection, principal, uid)


def analysis(services: Services, principal: Principal, uid: str) -> BehaviorAnalysis:
    """E34. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        task = _read(connection, principal, uid)
        data = repository.part(connection, principal.workspace_id, uid, RESULT)
    found: dict[str, Any] = _NOTHING if data is None else msgspec.json.decode(b"".join(decode([data])))
    about = {"uid": uid, "status": task.status, "samplingMode": task.sampling_mode, "error": task.error}
    return msgspec.convert({**found, **about}, BehaviorAnalysis)


def _looked_at(plan: Plan) -> JobFilter:
    return JobFilter(group_id=plan.group_id, step=",".join(map(str, plan.steps)) or None)


def _find(connection: Connection, principal: Principal, uid: str) -> TaskRow:
    row = repository.find(connection, principal, uid)
    if row is None:
        raise not_found("behaviour task", uid)
    return row


def _read(connection: Connection, principal: Principal, uid: str) -> BehaviorTask:
    row = _find(connection, principal, uid)
    return _task(row, work.standing(connection, principal.workspace_id, KIND, keys=[uid]).get(uid))


def _task(row: TaskRow, standing: Standing | None) -> BehaviorTask:
    live = standing if row.state == "pending" else None
    claimed = live is not None and live.state == "claimed"
    progress = Progress(done=row.done, total=row.total) if live is None else Progress(done=live.done, total=live.total)
    return BehaviorTask(
        uid=row.uid,
        group_id=row.group_id,
        status=RUNNING if claimed else _WORDS[row.state],
        steps=msgspec.json.decode(row.steps_json),
        sampling_mode=row.sampling_mode,
        sample_size=row.sample_size,
        scoring_limit=row.scoring_limit,
        progress=progress,
        created_at=format_time(row.created_at),
        created_by=row.created_by,
        finished_at=format_optional(row.ended_at),
        error=row.error,
    )
