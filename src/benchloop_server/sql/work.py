"""Wishing for background work: a row of `work`, written in the transaction of what makes the work necessary, so that neither is lost."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from benchloop_server.sql.tables import work, work_steps

_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
#: States in which a piece of work still has something to do.
LIVE = ("pending", "claimed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Work of `kind` about `key`, with `args` as JSON. `due_at` (microseconds): not before; None: at once. Lower `rank` goes first: 0 for
    what somebody waits for, 10 for what follows from a push, 20 for upkeep.
    """

    workspace_id: str
    kind: str
    key: str
    args: dict[str, Any] = field(default_factory=dict)
    due_at: int | None = None
    rank: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a piece of work stands: `state` is pending, claimed, done, failed or cancelled; `error` the last failure's sentence."""

    work_id: str
    state: str
    done: int | None
    total: int | None
    error: str | None


def enqueue(connection: Connection, wish: Wish, *, now: int) -> str:
    """Have the work done after this transaction; returns its id. At most one piece is live for a workspace, kind and key: a waiting one
    takes the new arguments and time, one that is being done is done again afterwards, one that has ended begins anew.
    """
    due_at = now if wish.due_at is None else wish.due_at
    args = msgspec.json.encode(wish.args).decode()
    fresh = {"args_json": args, "due_at": due_at, "rank": wish.rank, "requested_at": now, **_FRESH}
    name = {"workspace_id": wish.workspace_id, "kind": wish.kind, "key": wish.key}
    row = {"work_id": secrets.token_hex(16), **name, **fresh}
    new = _INSERT[connection.dialect.name](work).values(row).on_conflict_do_nothing().returning(work.c.work_id)
    if connection.execute(new).first() is not None:
        return str(row["work_id"])
    found = connection.execute(select(work.c.work_id, work.c.state).where(*_named(**name)).with_for_update()).one()
    if found.state == "claimed":
        fresh = {"again_json": args, "again_at": due_at}
    elif found.state != "pending":
        connection.execute(delete(work_steps).where(work_steps.c.work_id == found.work_id))
    connection.execute(update(work).where(work.c.work_id == found.work_id).values(fresh))
    return str(found.work_id)


_FRESH: dict[str, Any] = {
    "state": "pending",
    "attempts": 0,
    "cancel": False,
    **dict.fromkeys(("token", "worker_id", "done", "total", "error", "again_json", "again_at", "ended_at")),
}


def forget(connection: Connection, workspace_id: str, key: str) -> None:
    """Drop all work about `key`, which is no more. Whoever is doing some of it finds out at the next step, which is then not kept."""
    mine = (work.c.workspace_id == workspace_id, work.c.key == key)
    connection.execute(delete(work_steps).where(work_steps.c.work_id.in_(select(work.c.work_id).where(*mine))))
    connection.execute(delete(work).where(*mine))


def cancel(connection: Connection, workspace_id: str, kind: str, *, key: str, now: int) -> bool:
    """Stop the work: at once where it waits, at its next step where it is being done. False when there is none that is live."""
    mine = _named(workspace_id=workspace_id, kind=kind, key=key)
    waiting = update(work).where(*mine, work.c.state == "pending").values(state="cancelled", ended_at=now)
    doing = update(work).where(*mine, work.c.state == "claimed").values(cancel=True, again_json=None, again_at=None)
    return bool(connection.execute(waiting).rowcount or connection.execute(doing).rowcount)


def standing(connection: Connection, workspace_id: str, kind: str, *, keys: Iterable[str]) -> dict[str, Standing]:
    """How the work about each of these keys (some hundred) stands; those that were never wished for, or long ago, are left out."""
    mine = (work.c.workspace_id == workspace_id, work.c.kind == kind, work.c.key.in_(list(keys)))
    columns: list[Any] = [work.c.key, work.c.work_id, work.c.state, work.c.done, work.c.total, work.c.error]
    return {row.key: _standing(row) for row in connection.execute(select(*columns).where(*mine))}


def depths(connection: Connection, workspace_id: str) -> dict[str, dict[str, int]]:
    """How many pieces of each kind are in each state."""
    counts = select(work.c.kind, work.c.state, func.count().label("n")).where(work.c.workspace_id == workspace_id)
    found: dict[str, dict[str, int]] = {}
    for row in connection.execute(counts.group_by(work.c.kind, work.c.state).order_by(work.c.kind)):
        found.setdefault(row.kind, {})[row.state] = row.n
    return found


def _named(*, workspace_id: str, kind: str, key: str) -> tuple[Any, ...]:
    return work.c.workspace_id == workspace_id, work.c.kind == kind, work.c.key == key


def _standing(row: Row[Any]) -> Standing:
    return Standing(work_id=row.work_id, state=row.state, done=row.done, total=row.total, error=row.error)
