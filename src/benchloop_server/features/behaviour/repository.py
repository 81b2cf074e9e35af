"""The rows of behaviour tasks, what each has so far, and the jobs that one looks at. What is `pending` is to be done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, insert, select, update

from benchloop_server.features.behaviour.asking import Plan
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.tables import behaviour_parts, behaviour_tasks, jobs

TaskRow = Row[Any]
_PAGE = 2_000


def find(connection: Connection, principal: Principal, uid: str) -> TaskRow | None:
    """The task, if it is in the caller's workspace."""
    mine = (behaviour_tasks.c.workspace_id == principal.workspace_id, behaviour_tasks.c.uid == uid)
    return connection.execute(select(behaviour_tasks).where(*mine)).one_or_none()


def live(connection: Connection, principal: Principal, live_key: str) -> TaskRow | None:
    """The task of an equal wish that has not failed and was not cancelled."""
    mine = (behaviour_tasks.c.workspace_id == principal.workspace_id, behaviour_tasks.c.live_key == live_key)
    return connection.execute(select(behaviour_tasks).where(*mine)).one_or_none()


def of_group(connection: Connection, principal: Principal, group_id: str) -> Sequence[TaskRow]:
    """Every task of the group, newest first."""
    mine = (behaviour_tasks.c.workspace_id == principal.workspace_id, behaviour_tasks.c.group_id == group_id)
    newest_first = (behaviour_tasks.c.created_at.desc(), behaviour_tasks.c.uid.desc())
    return connection.execute(select(behaviour_tasks).where(*mine).order_by(*newest_first)).all()


def add(connection: Connection, principal: Principal, plan: Plan, *, data_digest: str, uid: str, now: int) -> None:
    """Keep a task as pending."""
    values = {
        "workspace_id": principal.workspace_id,
        "uid": uid,
        "group_id": plan.group_id,
        "sampling_mode": plan.sampling_mode,
        "steps_json": msgspec.json.encode(plan.steps).decode(),
        "sample_size": plan.sample_size,
        "scoring_limit": plan.scoring_limit,
        "data_digest": data_digest,
        "live_key": plan.live_key(data_digest),
        "state": "pending",
        "created_at": now,
        "created_by": principal.user,
    }
    connection.execute(insert(behaviour_tasks).values(values))


# ---- what becomes of a task ---------------------------------------------------------------------------------------------------------


def pending(connection: Connection, workspace_id: str, uid: str) -> TaskRow | None:
    """The task, unless it is gone or has ended."""
    mine = (behaviour_tasks.c.workspace_id == workspace_id, behaviour_tasks.c.uid == uid, behaviour_tasks.c.state == "pending")
    return connection.execute(select(behaviour_tasks).where(*mine)).one_or_none()


def end(connection: Connection, workspace_id: str, uid: str, *, state: str, now: int, **values: Any) -> bool:
    """The pending task is done, failed or cancelled; False when it was not pending. One that gave no result may be asked for again."""
    mine = (behaviour_tasks.c.workspace_id == workspace_id, behaviour_tasks.c.uid == uid, behaviour_tasks.c.state == "pending")
    again = {} if state == "done" else {"live_key": None}
    ended = update(behaviour_tasks).where(*mine).values(state=state, ended_at=now, **again, **values)
    return connection.execute(ended).rowcount == 1


def keep_part(connection: Connection, workspace_id: str, uid: str, *, name: str, data: bytes) -> bool:
    """Keep something that a pending task has so far; False for a task that is gone or has ended."""
    if pending(connection, workspace_id, uid) is None:
        return False
    drop_part(connection, workspace_id, uid, name=name)
    connection.execute(insert(behaviour_parts).values(workspace_id=workspace_id, uid=uid, name=name, data=data))
    return True


def drop_part(connection: Connection, workspace_id: str, uid: str, *, name: str) -> None:
    """Forget it."""
    connection.execute(delete(behaviour_parts).where(*_part(workspace_id, uid, name)))


def part(connection: Connection, workspace_id: str, uid: str, name: str) -> bytes | None:
    """What was kept under this name."""
    return connection.execute(select(behaviour_parts.c.data).where(*_part(workspace_id, uid, name))).scalar_one_or_none()


def _part(workspace_id: str, uid: str, name: str) -> tuple[Any, ...]:
    return behaviour_parts.c.workspace_id == workspace_id, behaviour_parts.c.uid == uid, behaviour_parts.c.name == name


# ---- what it looks at ---------------------------------------------------------------------------------------------------------------


def facts(connection: Connection, workspace_id: str, group_id: str, *, steps: Iterable[int]) -> Iterator[Row[Any]]:
    """Of each job of the group, or of these training steps of it, what a sample is drawn by; in the order of the job list."""
    names = (
        *("job_id", "task_id", "agent", "model", "step", "reward", "reward_valid", "status"),
        *("fingerprint", "trajectory_sha256", "created_at"),
    )
    query = select(*(jobs.c[name] for name in names)).where(jobs.c.workspace_id == workspace_id, jobs.c.group_id == group_id)
    wanted = list(steps)
    if wanted:
        query = query.where(jobs.c.step.in_(wanted))
    query = query.order_by(jobs.c.created_at, jobs.c.job_id).execution_options(yield_per=_PAGE)
    yield from connection.execute(query)


def fingerprints(connection: Connection, workspace_id: str, job_ids: Iterable[str]) -> dict[str, str]:
    """Job → its content, for those of these jobs (some hundred) that there are."""
    query = select(jobs.c.job_id, jobs.c.fingerprint).where(jobs.c.workspace_id == workspace_id, jobs.c.job_id.in_(list(job_ids)))
    return {row.job_id: row.fingerprint for row in connection.execute(query)}
