"""The job list for people: pages, counts for filters, neighbours within a filter, attempts at tasks, and sizes before a download."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.listing import repository
from benchloop_server.features.listing.query import FACETS, RANGES, JobQuery, parse
from benchloop_server.features.listing.repository import Place
from benchloop_server.kit import cursors
from benchloop_server.kit.db import Connection, Row
from benchloop_server.kit.errors import bad_request, not_found
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

__all__ = ["FACETS", "RANGES", "Facet", "JobQuery", "Listed", "Neighbours", "Sizes", "Spread", "parse"]

T = TypeVar("T")

_VALUES = 100
_BARS = 24
_MICROS = 1_000_000
_BYTES = 20_000
#: Seconds that are round on a clock.
_CLOCK = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000)
#: Attempts at one task that a grid shows; beyond, a task's jobs are a filter of the list.
MOST_ATTEMPTS = 64


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the list: `total` jobs fit; `after` and `before` are where the next and the previous part begin, None at the ends."""

    rows: list[Any]
    total: int
    after: str | None
    before: str | None


class Facet(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a fact under all other filters, with how many jobs have each; `more`: there are others."""

    name: str
    values: list[tuple[Any, int]]
    more: bool


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a fact, in its own unit: over `known` jobs, in bars (from, to, jobs), the last one including its end."""

    name: str
    known: int
    missing: int
    low: float | None
    high: float | None
    bars: list[tuple[float, float, int]]


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """What a download of these jobs weighs, in bytes of the plain files; `gone` are no longer on the server."""

    jobs: int
    gone: int
    trajectories: int
    trajectory_bytes: int
    archives: int
    archive_bytes: int


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs before and after one within a query; None at the ends, or where the job does not fit it."""

    before: str | None
    after: str | None


def page(
    services: Services, principal: Principal, query: JobQuery, *, limit: int, after: str | None = None, before: str | None = None
) -> Listed:
    """A part of the list. Raises `DomainError`: 404 for the group, 400 for a place that is none."""
    if after and before:
        raise bad_request("`after` and `before` exclude each other")
    where = repository.where_of(principal, query.conditions())
    order = f"{'-' if query.descending else ''}{query.order}"
    cursor = after or before
    beyond = cursors.unpack_place(cursor, order) if cursor else None
    with services.db.read() as connection:
        groups.require(connection, principal, query.group_id)
        total = repository.count(connection, where)
        found = _places(connection, where, query, limit=limit + 1, beyond=beyond, backwards=bool(before))
        kept = found[:limit]
        rows = repository.rows(connection, principal, [each.job_id for each in kept])
    more = len(found) > limit
    if before:
        kept = kept[::-1]
        rows = rows[::-1]
    return Listed(
        rows=rows,
        total=total,
        after=_cursor(order, kept[-1]) if kept and (more or before) else None,
        before=_cursor(order, kept[0]) if kept and (after or (before and more)) else None,
    )


def facet(services: Services, principal: Principal, query: JobQuery, name: str, *, part: str = "") -> Facet:
    """How many jobs each value of a fact has, under the other filters. Raises `DomainError`: 404 for the group or the fact."""
    if name not in FACETS:
        raise not_found("filter", name)
    return _glimpse(services, principal, query, ("facet", name, part), lambda connection: _facet(connection, principal, query, name, part))


def spread(services: Services, principal: Principal, query: JobQuery, name: str, *, bars: int = _BARS) -> Spread:
    """How the numbers of a fact lie, under the other filters. Raises `DomainError`: 404 for the group or the fact."""
    if name not in RANGES:
        raise not_found("filter", name)
    return _glimpse(
        services, principal, query, ("spread", name, bars), lambda connection: _spread(connection, principal, query, name, bars)
    )


def neighbours(services: Services, principal: Principal, query: JobQuery, job_id: str) -> Neighbours:
    """The jobs before and after this one in the list. Raises `DomainError` (404) for the job."""
    with services.db.read() as connection:
        jobs.find(connection, principal, job_id)
        where = repository.where_of(principal, query.conditions())
        own = repository.places(
            connection,
            repository.where_of(principal, {**query.conditions(), "job_id": job_id}),
            order=query.order,
            descending=query.descending,
            limit=1,
        )
        if not own:
            return Neighbours(before=None, after=None)
        place: Place = (own[0].value, own[0].created_at)
        sides = [_places(connection, where, query, limit=1, beyond=place, backwards=backwards) for backwards in (True, False)]
    before, after = (side[0].job_id if side else None for side in sides)
    return Neighbours(before=before, after=after)


def sizes(services: Services, principal: Principal, job_ids: Sequence[str]) -> Sizes:
    """What these jobs weigh, without reading any of them."""
    with services.db.read() as connection:
        found, trajectories, trajectory_bytes, archives, archive_bytes = repository.sizes(connection, principal, job_ids)
    return Sizes(
        jobs=len(job_ids),
        gone=len(job_ids) - found,
        trajectories=trajectories,
        trajectory_bytes=trajectory_bytes,
        archives=archives,
        archive_bytes=archive_bytes,
    )


def attempts(services: Services, principal: Principal, group_id: str, *, task_ids: Sequence[str]) -> dict[str, list[Row[Any]]]:
    """Task id → its first jobs, at most `MOST_ATTEMPTS`, by step and attempt."""
    found: dict[str, list[Row[Any]]] = {task_id: [] for task_id in task_ids}
    with services.db.read() as connection:
        for row in repository.attempts(connection, principal, group_id, task_ids=task_ids, limit=MOST_ATTEMPTS):
            found[row.task_id].append(row)
    return found


def crossed(
    services: Services, principal: Principal, group_id: str, name: str, *, task_ids: Sequence[str]
) -> dict[tuple[str, Any], tuple[int, int]]:
    """(task id, value of the fact `name`) → (attempts, passed)."""
    where = repository.where_of(principal, {"group_id": group_id})
    with services.db.read() as connection:
        rows = repository.crossed(connection, where, name, task_ids=task_ids)
    return {(row.task_id, row.value): (int(row.attempts or 0), int(row.passed or 0)) for row in rows}


def edges(low: float, high: float, bars: int, *, timed: bool = False) -> list[float]:
    """About `bars` bars of one round width that hold all from `low` to `high`: their edges, one more than bars. `timed`: seconds."""
    if high <= low:
        width = abs(low) / 10 or 1.0
        return [low - width / 2, low + width / 2]
    rough = (high - low) / bars
    unit = 10.0 ** math.floor(math.log10(rough))
    clock = [step for step in _CLOCK if step >= rough] if timed and rough > 1 else []
    width = clock[0] if clock else next(unit * step for step in (1, 2, 2.5, 5, 10) if unit * step >= rough * (1 - 1e-9))
    first = math.floor(low / width)
    last = max(first + 1, math.ceil(high / width))
    return [number * width for number in range(first, last + 1)]


def _places(
    connection: Connection, where: repository.Where, query: JobQuery, *, limit: int, beyond: Place | None, backwards: bool
) -> Sequence[Row[Any]]:
    order, descending = query.order, query.descending
    return repository.places(connection, where, order=order, descending=descending, limit=limit, beyond=beyond, backwards=backwards)


def _cursor(order: str, row: Row[Any]) -> str:
    return cursors.pack_place(order, row.value, row.created_at)


def _glimpse(services: Services, principal: Principal, query: JobQuery, what: tuple[Any, ...], make: Callable[[Connection], T]) -> T:
    with services.db.read() as connection:
        version = groups.version(connection, principal, query.group_id)
    conditions = tuple(sorted((name, repr(value)) for name, value in query.conditions(without=what[1]).items()))

    def made() -> T:
        with services.db.read() as connection:
            return make(connection)

    return services.glimpses.get((*what, principal.workspace_id, version, conditions), made, weight=lambda _: _BYTES)


def _facet(connection: Connection, principal: Principal, query: JobQuery, name: str, part: str) -> Facet:
    where = repository.where_of(principal, query.conditions(without=name))
    found = repository.values(connection, where, name, limit=_VALUES + 1, part=part)
    return Facet(name=name, values=found[:_VALUES], more=len(found) > _VALUES)


def _spread(connection: Connection, principal: Principal, query: JobQuery, name: str, bars: int) -> Spread:
    where = repository.where_of(principal, query.conditions(without=name))
    known, low, high, missing = repository.extent(connection, where, name)
    if low is None or high is None:
        return Spread(name=name, known=known, missing=missing, low=None, high=None, bars=[])
    unit = RANGES[name] or _MICROS
    limits = edges(low / unit, high / unit, bars, timed=name in {"duration", "started_at"})
    counts = repository.histogram(connection, where, name, edges=[edge * unit for edge in limits[1:-1]])
    found = [(start, stop, number) for start, stop, number in zip(limits, limits[1:], counts, strict=False)]
    return Spread(name=name, known=known, missing=missing, low=low / unit, high=high / unit, bars=found)


def ids_of(rows: Iterable[Row[Any]]) -> list[str]:
    """The ids of rows."""
    return [row.job_id for row in rows]
