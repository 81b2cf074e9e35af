"""Groups: created or updated by a push, listed, and looked up by everything that belongs to one."""

from __future__ import annotations

from benchloop_client.contract.resources import Group, GroupPage, GroupUpsert
from benchloop_server.features.groups import repository
from benchloop_server.features.groups.repository import GroupFilter
from benchloop_server.kit import cursors
from benchloop_server.kit.db import Connection
from benchloop_server.kit.errors import not_found
from benchloop_server.kit.facts import check_counts, check_texts, moment
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail

__all__ = ["GroupFilter", "choices", "exists", "find", "get", "hold", "page", "put", "require", "touch", "version"]

_ANY = GroupFilter()
_CHOICES = 50


def get(services: Services, principal: Principal, group_id: str) -> Group:
    """The group. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        return find(connection, principal, group_id)


def find(connection: Connection, principal: Principal, group_id: str) -> Group:
    """As `get`, inside the caller's transaction."""
    group = repository.find(connection, principal, group_id)
    if group is None:
        raise not_found("group", group_id)
    return group


def require(connection: Connection, principal: Principal, group_id: str) -> None:
    """Raise `DomainError` (404) unless the caller's workspace has the group."""
    if not repository.exists(connection, principal, group_id):
        raise not_found("group", group_id)


def version(connection: Connection, principal: Principal, group_id: str) -> int:
    """A number that is another one after every change of the group's jobs. Raises `DomainError` (404)."""
    found = repository.changed(connection, principal, group_id)
    if found is None:
        raise not_found("group", group_id)
    return found


def hold(connection: Connection, principal: Principal, group_id: str) -> None:
    """As `require`, for a transaction that writes: nobody deletes the group before it ends."""
    if not repository.hold(connection, principal, group_id):
        raise not_found("group", group_id)


def exists(connection: Connection, principal: Principal, group_id: str) -> bool:
    """Whether the caller's workspace has the group."""
    return repository.exists(connection, principal, group_id)


def touch(connection: Connection, principal: Principal, group_id: str, *, now: int) -> None:
    """Mark the group changed, in the transaction that changed its jobs."""
    repository.touch(connection, principal, group_id, now=now)


def page(services: Services, principal: Principal, wanted: GroupFilter = _ANY, *, limit: int, cursor: str | None) -> GroupPage:
    """One page of the groups that fit, newest first; `limit` is cut to what a page may hold."""
    limit = min(limit, services.limits.page)
    after = cursors.unpack(cursor) if cursor is not None else None
    with services.db.read() as connection:
        total = repository.count(connection, principal, wanted)
        rows = repository.page(connection, principal, wanted, limit=limit + 1, after=after)
    kept = rows[:limit]
    more = cursors.pack(kept[-1][0], kept[-1][1].group_id) if len(rows) > limit else None
    return GroupPage(total=total, groups=[group for _, group in kept], next_cursor=more)


def choices(services: Services, principal: Principal) -> dict[str, list[tuple[str, int]]]:
    """What groups can be filtered by: the most frequent models and benchmarks, each with how many groups have it."""
    with services.db.read() as connection:
        return {name: repository.values(connection, principal, name, limit=_CHOICES) for name in ("model", "benchmark")}


def put(services: Services, principal: Principal, group_id: str, *, upsert: GroupUpsert) -> Group:
    """Create the group or replace its facts. Raises `DomainError` (422) naming the fact that cannot be."""
    thing = f"group {group_id!r}"
    texts = (upsert.name, upsert.run_id, upsert.benchmark, upsert.model, upsert.agent)
    check_texts(thing, zip(("name", "run_id", "benchmark", "model", "agent"), texts, strict=True))
    check_counts(thing, [("expected", upsert.expected)])
    started_at = moment(thing, "started_at", upsert.started_at)
    finished_at = moment(thing, "finished_at", upsert.finished_at)
    values = repository.values_of(upsert, started_at=started_at, finished_at=finished_at)
    now = services.clock()
    with services.db.write() as connection:
        repository.put(connection, principal, group_id, values=values, now=now)
        trail.record(connection, principal, trail.Event("group.put", group_id), at=now)
        return find(connection, principal, group_id)
