"""The rows of background work as workers use them. Whoever holds a piece changes its row only while the claim's token stands there."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, and_, case, delete, exists, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from benchloop_server.kit.work import Item
from benchloop_server.sql.tables import work, work_steps, workers

_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_NOBODYS: dict[str, Any] = {"token": None, "worker_id": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker process, as its row says."""

    worker_id: str
    host: str
    pid: int
    version: str
    started_at: int
    seen_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A piece of work that is ours while `token` stands in its row. `attempts` counts the claims since a step was last finished."""

    item: Item
    token: str
    attempts: int
    cancel: bool


def due(connection: Connection, kinds: Sequence[str], *, now: int, silent_since: int) -> bool:
    """Whether a worker would find something to do."""
    waiting = and_(work.c.state == "pending", work.c.due_at <= now)
    orphaned = and_(work.c.state == "claimed", _is_dead(silent_since))
    return connection.execute(select(work.c.work_id).where(or_(waiting, orphaned), work.c.kind.in_(kinds)).limit(1)).first() is not None


def claim(connection: Connection, worker_id: str, kinds: Sequence[str], *, now: int) -> Claim | None:
    """Take the most urgent piece that is due."""
    mine = (work.c.state == "pending", work.c.due_at <= now, work.c.kind.in_(kinds))
    query = select(work).where(*mine).order_by(work.c.rank, work.c.due_at).limit(1).with_for_update(skip_locked=True)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    token = secrets.token_hex(16)
    values = {"state": "claimed", "token": token, "worker_id": worker_id, "attempts": row.attempts + 1}
    connection.execute(update(work).where(work.c.work_id == row.work_id).values(values))
    args = msgspec.json.decode(row.args_json)
    item = Item(work_id=row.work_id, workspace_id=row.workspace_id, kind=row.kind, key=row.key, args=args)
    return Claim(item=item, token=token, attempts=row.attempts + 1, cancel=row.cancel)


def held(connection: Connection, claimed: Claim) -> Row[Any] | None:
    """Whether the claim stands (a row with `cancel`), or not (None)."""
    return connection.execute(select(work.c.cancel).where(*_ours(claimed))).one_or_none()


def keep(connection: Connection, claimed: Claim, *, progress: tuple[int, int] | None, advanced: bool = False) -> bool:
    """Hold the claim's row until the transaction ends; False when the claim no longer stands. `advanced`: a step is finished with it."""
    values: dict[str, Any] = {"worker_id": work.c.worker_id, **({"attempts": 1} if advanced else {})}
    if progress is not None:
        values |= {"done": progress[0], "total": progress[1]}
    return connection.execute(update(work).where(*_ours(claimed)).values(values)).rowcount == 1


def steps(connection: Connection, work_id: str) -> dict[str, str]:
    """The finished steps and their results as JSON."""
    rows = connection.execute(select(work_steps.c.name, work_steps.c.result_json).where(work_steps.c.work_id == work_id))
    return {row.name: row.result_json for row in rows}


def add_step(connection: Connection, work_id: str, name: str, *, result_json: str) -> None:
    """Mark a step finished."""
    connection.execute(insert(work_steps).values(work_id=work_id, name=name, result_json=result_json))


def end(connection: Connection, claimed: Claim, state: str, *, now: int, error: str | None = None) -> bool:
    """The work is over, or begins anew if it was wished for again meanwhile; False when the claim no longer stands."""
    again = work.c.again_json.is_not(None)
    values = {
        **_NOBODYS,
        "state": case((again, "pending"), else_=state),
        "args_json": case((again, work.c.again_json), else_=work.c.args_json),
        "due_at": case((again, work.c.again_at), else_=work.c.due_at),
        "attempts": 0,
        "cancel": False,
        "error": error,
        "ended_at": now,
        "again_json": None,
        "again_at": None,
    }
    if connection.execute(update(work).where(*_ours(claimed)).values(values)).rowcount != 1:
        return False
    connection.execute(delete(work_steps).where(work_steps.c.work_id == claimed.item.work_id))
    return True


def give_back(connection: Connection, claimed: Claim, *, due_at: int, error: str | None, attempts: int) -> bool:
    """Let the work be claimed again, not before `due_at`; finished steps stay. False when the claim no longer stands."""
    values = {**_NOBODYS, "state": "pending", "due_at": due_at, "error": error, "attempts": attempts}
    return connection.execute(update(work).where(*_ours(claimed)).values(values)).rowcount == 1


def beat(connection: Connection, worker: Worker) -> None:
    """Write the worker's row, new or again."""
    values = {name: getattr(worker, name) for name in Worker.__dataclass_fields__}
    statement = _INSERT[connection.dialect.name](workers).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=[workers.c.worker_id], set_={"seen_at": worker.seen_at}))


def free_orphans(connection: Connection, *, now: int, silent_since: int) -> int:
    """Let what dead workers hold be claimed again; returns how many pieces."""
    values = {**_NOBODYS, "state": "pending", "due_at": now}
    return connection.execute(update(work).where(work.c.state == "claimed", _is_dead(silent_since)).values(values)).rowcount


def has_orphans(connection: Connection, *, silent_since: int) -> bool:
    """Whether `free_orphans` would find anything."""
    return connection.execute(select(work.c.work_id).where(work.c.state == "claimed", _is_dead(silent_since)).limit(1)).first() is not None


def forget(connection: Connection, worker_id: str, *, now: int) -> None:
    """The worker is no more; what it held may be claimed at once."""
    connection.execute(delete(workers).where(workers.c.worker_id == worker_id))
    values = {**_NOBODYS, "state": "pending", "due_at": now}
    connection.execute(update(work).where(work.c.state == "claimed", work.c.worker_id == worker_id).values(values))


def all_workers(connection: Connection) -> list[Worker]:
    """Every worker that has a row, the oldest first."""
    return [Worker(**row._mapping) for row in connection.execute(select(workers).order_by(workers.c.started_at))]


def prune(connection: Connection, *, ended_before: int, silent_since: int) -> None:
    """Remove what has ended long ago, and workers that fell silent long ago."""
    ended = and_(work.c.state.in_(("done", "failed", "cancelled")), work.c.ended_at < ended_before)
    connection.execute(delete(work).where(ended))
    connection.execute(delete(workers).where(workers.c.seen_at < silent_since))


def _ours(claimed: Claim) -> tuple[ColumnElement[bool], ...]:
    return work.c.work_id == claimed.item.work_id, work.c.token == claimed.token


def _is_dead(silent_since: int) -> ColumnElement[bool]:
    return ~exists().where(workers.c.worker_id == work.c.worker_id, workers.c.seen_at >= silent_since)
