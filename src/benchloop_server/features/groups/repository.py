"""The rows of groups, the two counts over their jobs that a group shows, and everything that goes with a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select, update

from benchloop_client.contract.resources import Group, GroupUpsert
from benchloop_server.kit.clock import format_optional, format_time
from benchloop_server.kit.principal import Principal
from benchloop_server.sql import work
from benchloop_server.sql.tables import behaviour_tasks, groups, job_media, jobs, metadata, uploads


def find(connection: Connection, principal: Principal, group_id: str) -> Group | None:
    """The group, if it is in the caller's workspace."""
    rows = connection.execute(select(groups).where(*_mine(principal, group_id))).all()
    found = _with_counts(connection, principal, rows)
    return found[0] if found else None


def exists(connection: Connection, principal: Principal, group_id: str) -> bool:
    """Whether the caller's workspace has the group."""
    return connection.execute(select(groups.c.group_id).where(*_mine(principal, group_id))).first() is not None


def changed(connection: Connection, principal: Principal, group_id: str) -> int | None:
    """When the group last changed."""
    return connection.execute(select(groups.c.updated_at).where(*_mine(principal, group_id))).scalar()


def hold(connection: Connection, principal: Principal, group_id: str) -> bool:
    """As `exists`; until the transaction ends nobody else changes or deletes the group. SQLite's writers have the file to themselves."""
    return connection.execute(select(groups.c.group_id).where(*_mine(principal, group_id)).with_for_update()).first() is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFilter:
    """Which groups are meant: all that is given has to fit. `search` is part of the id or of either name, whatever the case."""

    search: str = ""
    model: str | None = None
    benchmark: str | None = None
    step: int | None = None


_ANY = GroupFilter()


def count(connection: Connection, principal: Principal, wanted: GroupFilter = _ANY) -> int:
    """How many groups of the caller's workspace fit."""
    return connection.execute(select(func.count()).where(*_fitting(principal, wanted))).scalar_one()


def values(connection: Connection, principal: Principal, name: str, *, limit: int) -> list[tuple[str, int]]:
    """The values of the column `name` (model, benchmark) with how many groups have each, the most frequent first."""
    number = func.count().label("number")
    mine = (groups.c.workspace_id == principal.workspace_id, groups.c[name].is_not(None))
    query = select(groups.c[name], number).where(*mine).group_by(groups.c[name]).order_by(number.desc(), groups.c[name]).limit(limit)
    return [(value, int(found)) for value, found in connection.execute(query)]


def page(
    connection: Connection, principal: Principal, wanted: GroupFilter = _ANY, *, limit: int, after: tuple[int, str] | None
) -> list[tuple[int, Group]]:
    """At most `limit` groups that fit with their creation times in microseconds, newest first, `after` that place."""
    query = select(groups).where(*_fitting(principal, wanted))
    if after is not None:
        created_at, group_id = after
        earlier = and_(groups.c.created_at == created_at, groups.c.group_id < group_id)
        query = query.where(or_(groups.c.created_at < created_at, earlier))
    rows = connection.execute(query.order_by(groups.c.created_at.desc(), groups.c.group_id.desc()).limit(limit)).all()
    return [(row.created_at, group) for row, group in zip(rows, _with_counts(connection, principal, rows), strict=True)]


def put(connection: Connection, principal: Principal, group_id: str, *, values: dict[str, Any], now: int) -> None:
    """Create the group, or replace its facts and keep its creation."""
    if hold(connection, principal, group_id):
        connection.execute(update(groups).where(*_mine(principal, group_id)).values(updated_at=now, **values))
        return
    key = {"workspace_id": principal.workspace_id, "group_id": group_id, "created_by": principal.user}
    connection.execute(insert(groups).values(created_at=now, updated_at=now, **key, **values))


def edit(connection: Connection, principal: Principal, group_id: str, *, values: dict[str, Any], now: int) -> None:
    """Set what people say by hand: any of given_name, tags_json, note."""
    connection.execute(update(groups).where(*_mine(principal, group_id)).values(updated_at=now, **values))


def remove(connection: Connection, principal: Principal, group_id: str, *, now: int) -> int:
    """Delete the group and the rows of every table that belong to it; returns how many jobs there were.

    Uploads stay: another group may name the same bytes. They are marked, and given back later if nobody does (`features.reclaim`).
    """
    _mark_uploads(connection, principal, group_id, now=now)
    mine = (behaviour_tasks.c.workspace_id == principal.workspace_id, behaviour_tasks.c.group_id == group_id)
    for uid in connection.execute(select(behaviour_tasks.c.uid).where(*mine)).scalars().all():
        work.forget(connection, principal.workspace_id, uid)
    jobs_gone = 0
    for table in reversed(metadata.sorted_tables):
        if "group_id" in table.c:
            mine = (table.c.workspace_id == principal.workspace_id, table.c.group_id == group_id)
            gone = connection.execute(delete(table).where(*mine)).rowcount
            jobs_gone = gone if table is jobs else jobs_gone
    work.forget(connection, principal.workspace_id, group_id)
    return jobs_gone


def touch(connection: Connection, principal: Principal, group_id: str, *, now: int) -> None:
    """Mark the group changed."""
    connection.execute(update(groups).where(*_mine(principal, group_id)).values(updated_at=now))


def values_of(upsert: GroupUpsert, *, started_at: int | None, finished_at: int | None) -> dict[str, Any]:
    """The columns that a push sets."""
    return {
        "name": upsert.name,
        "run_id": upsert.run_id,
        "benchmark": upsert.benchmark,
        "model": upsert.model,
        "agent": upsert.agent,
        "expected": upsert.expected,
        "started_at": started_at,
        "finished_at": finished_at,
        "source_json": None if upsert.source is None else msgspec.json.encode(upsert.source).decode(),
        "extra_json": msgspec.json.encode(upsert.extra).decode(),
    }


def _mark_uploads(connection: Connection, principal: Principal, group_id: str, *, now: int) -> None:
    of_group = (jobs.c.workspace_id == principal.workspace_id, jobs.c.group_id == group_id)
    same_job = and_(job_media.c.workspace_id == jobs.c.workspace_id, job_media.c.job_id == jobs.c.job_id)
    named = {
        "trajectory": select(jobs.c.trajectory_sha256).where(*of_group, jobs.c.trajectory_sha256.is_not(None)),
        "archive": select(jobs.c.archive_sha256).where(*of_group, jobs.c.archive_sha256.is_not(None)),
        "media": select(job_media.c.sha256).select_from(job_media.join(jobs, same_job)).where(*of_group),
    }
    for kind, hashes in named.items():
        mine = (uploads.c.workspace_id == principal.workspace_id, uploads.c.kind == kind, uploads.c.unused_since.is_(None))
        connection.execute(update(uploads).where(*mine, uploads.c.sha256.in_(hashes)).values(unused_since=now))


def _fitting(principal: Principal, wanted: GroupFilter) -> list[Any]:
    found: list[Any] = [groups.c.workspace_id == principal.workspace_id]
    if wanted.search:
        pattern = "%" + wanted.search.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        names = (groups.c.group_id, groups.c.name, groups.c.given_name)
        found.append(or_(*(func.lower(name).like(pattern, escape="\\") for name in names)))
    found += [groups.c[name] == value for name in ("model", "benchmark") if (value := getattr(wanted, name)) is not None]
    if wanted.step is not None:
        same = (jobs.c.workspace_id == groups.c.workspace_id, jobs.c.group_id == groups.c.group_id, jobs.c.step == wanted.step)
        found.append(select(jobs.c.job_id).where(*same).exists())
    return found


def _mine(principal: Principal, group_id: str) -> tuple[Any, Any]:
    return groups.c.workspace_id == principal.workspace_id, groups.c.group_id == group_id


def _with_counts(connection: Connection, principal: Principal, rows: Sequence[Row[Any]]) -> list[Group]:
    ids = [row.group_id for row in rows]
    mine = (jobs.c.workspace_id == principal.workspace_id, jobs.c.group_id.in_(ids))
    counts = connection.execute(select(jobs.c.group_id, func.count()).where(*mine).group_by(jobs.c.group_id))
    present: dict[str, int] = {group_id: count for group_id, count in counts}  # noqa: C416 - rows are no pairs to the type checker
    steps: dict[str, list[int]] = {}
    pairs = select(jobs.c.step, jobs.c.group_id).distinct().where(*mine, jobs.c.step.is_not(None)).order_by(jobs.c.step)
    for step, group_id in connection.execute(pairs):
        steps.setdefault(group_id, []).append(step)
    return [_group(row, present=present.get(row.group_id, 0), steps=steps.get(row.group_id, [])) for row in rows]


def _group(row: Row[Any], *, present: int, steps: list[int]) -> Group:
    return Group(
        group_id=row.group_id,
        name=row.name if row.given_name is None else row.given_name,
        run_id=row.run_id,
        benchmark=row.benchmark,
        model=row.model,
        agent=row.agent,
        expected=row.expected,
        present=present,
        steps=steps,
        started_at=format_optional(row.started_at),
        finished_at=format_optional(row.finished_at),
        created_at=format_time(row.created_at),
        updated_at=format_time(row.updated_at),
        created_by=row.created_by,
        source=None if row.source_json is None else msgspec.json.decode(row.source_json),
        extra=msgspec.json.decode(row.extra_json),
        tags=[] if row.tags_json is None else msgspec.json.decode(row.tags_json),
        note=row.note,
    )
