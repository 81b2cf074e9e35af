"""The rows of behaviour tasks. They are the truth: what is `pending` is to be done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, insert, select

from benchloop_server.features.behaviour.asking import Plan
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.tables import behaviour_tasks

TaskRow = Row[Any]


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
