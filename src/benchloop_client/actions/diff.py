"""Two groups, or two steps, read from a server and compared task by task."""

from __future__ import annotations

from typing import Any

import msgspec

from benchloop_client.actions.diff_sides import read
from benchloop_client.actions.events import Noted
from benchloop_client.actions.work import Work
from benchloop_client.contract.comparison.sides import Counts, Side
from benchloop_client.contract.comparison.tasks import (
    CHANGES,
    SIGNIFICANCE,
    Change,
    Delta,
    Diff,
    PassTest,
    SideTotal,
    TaskDiff,
    TaskSide,
    compare,
)
from benchloop_client.errors import UsageError

__all__ = [
    "CHANGES",
    "SIGNIFICANCE",
    "Change",
    "Delta",
    "Diff",
    "PassTest",
    "Side",
    "SideTotal",
    "TaskDiff",
    "TaskSide",
    "as_json",
    "compare",
    "diff",
]


def diff(work: Work, a: Side, b: Side, *, significance: float = SIGNIFICANCE, seed: int = 0) -> Diff:
    """Read both sides and compare them. Raises `NotFound` for an unknown group or step, `UsageError` for a level outside (0, 1)."""
    if not 0 < significance < 1:
        raise UsageError(f"a significance level is between 0 and 1, not {significance}")
    found: list[Counts] = []
    for result in work.results((a, b), lambda side: read(work, side), ordered=True):
        if result.error is not None:
            raise result.error
        assert result.value is not None
        found.append(result.value)
    for counts in found:
        if counts.side.step is None and len(counts.steps) > 1:
            steps = ", ".join(map(str, sorted(counts.steps)))
            work.watch(Noted(f"{counts.side} holds steps {steps}, compared together; {counts.side}@{max(counts.steps)} is one of them"))
    return compare(found[0], found[1], significance=significance, seed=seed)


def as_json(found: Diff) -> dict[str, Any]:
    """The comparison as plain objects, as `bl diff` prints it."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain
