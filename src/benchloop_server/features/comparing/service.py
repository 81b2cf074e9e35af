"""The comparison of two sides, and how the reasons of failure moved between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchloop_client.contract.comparison.sides import Counts, Mean, Side, Tally
from benchloop_client.contract.comparison.tasks import Diff, compare
from benchloop_server.features.comparing import repository
from benchloop_server.features.groups import service as groups
from benchloop_server.features.listing import service as listing
from benchloop_server.features.listing.service import JobQuery
from benchloop_server.kit.conditions import Conditions
from benchloop_server.kit.db import Connection
from benchloop_server.kit.errors import not_found
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

__all__ = ["Compared", "Side", "compared"]

_BYTES_A_TASK = 1_000


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of B with A, and (reason, failed jobs of A, of B), the largest shift first."""

    diff: Diff
    reasons: list[tuple[str, int, int]]


def compared(services: Services, principal: Principal, a: Side, b: Side) -> Compared:
    """Compare B with A. Raises `DomainError` (404) for a group or step that is not there."""
    with services.db.read() as connection:
        versions = tuple(groups.version(connection, principal, side.group_id) for side in (a, b))
    key = ("compared", principal.workspace_id, a, b, versions)
    return services.glimpses.get(
        key, lambda: _made(services, principal, a, b), weight=lambda made: _BYTES_A_TASK * (1 + len(made.diff.tasks))
    )


def _made(services: Services, principal: Principal, a: Side, b: Side) -> Compared:
    with services.db.read() as connection:
        sides = [_counts(connection, principal, side) for side in (a, b)]
    before, after = (_reasons(services, principal, side) for side in (a, b))
    shifts = [(name, before.get(name, 0), after.get(name, 0)) for name in before | after]
    return Compared(compare(*sides), sorted(shifts, key=lambda shift: (-abs(shift[2] - shift[1]), -max(shift[1:]), shift[0])))


def _counts(connection: Connection, principal: Principal, side: Side) -> Counts:
    conditions: Conditions = {"group_id": side.group_id}
    if side.step is not None:
        conditions["step"] = side.step
    counts = Counts(side, steps=set(repository.steps(connection, principal, conditions)))
    if side.step is not None and not counts.steps:
        raise not_found("step", f"{side.step} of group {side.group_id}")
    for row in repository.tallies(connection, principal, conditions):
        counts.jobs += int(row.jobs)
        counts.tasks[row.task_id] = _tally(row)
    return counts


def _tally(row: Any) -> Tally:
    numbers = {name: int(getattr(row, name) or 0) for name in ("attempts", "passed", "invalid", "ungraded", "unfinished")}
    return Tally(**numbers, reward=_mean(row, "reward"), tokens=_mean(row, "tokens"), cost_usd=_mean(row, "cost_usd"))


def _mean(row: Any, name: str) -> Mean:
    return Mean(int(getattr(row, f"{name}_n")), float(getattr(row, f"{name}_total") or 0))


def _reasons(services: Services, principal: Principal, side: Side) -> dict[str, int]:
    query = JobQuery(group_id=side.group_id, facets={} if side.step is None else {"step": (side.step,)})
    found = listing.facet(services, principal, query, "fail_reason")
    return {value: number for value, number in found.values if value is not None}
