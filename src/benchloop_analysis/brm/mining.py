"""Finds rows of two to five actions that go with reward, on half of the tasks, so that they can be tested on the other half."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchloop_analysis.behaviours import ACTIONS
from benchloop_analysis.behaviours.records import Behaviour
from benchloop_analysis.brm.columns import Column, Options, Outcome
from benchloop_analysis.statistics.permutation import score
from benchloop_analysis.statistics.strata import Bools, Floats, Strata, scores

LENGTHS = (2, 3, 4, 5)
#: A row of actions is looked at where this share of jobs has it, and not nearly all of them.
SUPPORT = 0.05
#: So many are tested, the most promising first: each test more makes every finding harder.
CANDIDATES = 40
#: Jobs of the first half that are counted, whole tasks by lot; more would find the same rows.
_COUNTED = 3_000
_LOOKED_AT = 1_000
_FEWEST = 8


@dataclass(frozen=True)
class Mined:
    """The columns to test, NaN on the tasks they were found on, and how many tasks each half has."""

    columns: list[Column]
    found_on: int
    tested_on: int
    looked_at: int


def positions(actions: str, pattern: str) -> Iterator[int]:
    """Where `pattern` begins in `actions`; overlapping occurrences each count."""
    start = actions.find(pattern) if pattern else -1
    while start >= 0:
        yield start
        start = actions.find(pattern, start + 1)


def mine(outcome: Outcome, options: Options) -> Mined:
    """The rows of actions that were found. Neither half knows the other's rewards."""
    table = outcome.table
    order = np.random.default_rng(options.seed_for("halves")).permutation(len(table.task_ids))
    first = order < len(order) // 2
    there = np.flatnonzero(first[table.task] & outcome.valid)
    by_lot = there[np.argsort(order[table.task[there]], kind="stable")]
    found, looked_at = _promising(by_lot[:_COUNTED], outcome)
    second = ~first[table.task]
    columns = [_column(place, actions, outcome, second) for place, actions in enumerate(found, 1)]
    used = np.unique(table.task[outcome.valid])
    on = int(first[used].sum())
    return Mined(columns, on, len(used) - on, looked_at)


def _promising(rows: NDArray[np.int64], outcome: Outcome) -> tuple[list[str], int]:
    """Rows of actions by how far they go with reward among these jobs; the second number is how many had enough support."""
    actions = [outcome.table.actions[row] for row in rows]
    supported = _supported(actions)
    strata = Strata.of(outcome.table.stratum[rows])
    reward = outcome.reward[rows]
    ranked: list[tuple[float, str]] = []
    for part in supported:
        strength = _strength(_has(actions, part), reward, strata)
        if strength is not None:
            ranked.append((-strength, part))
    return [part for _, part in sorted(ranked)[:CANDIDATES]], len(supported)


def _supported(actions: Sequence[str]) -> list[str]:
    """Rows of actions that enough jobs have and not nearly all, at most `_LOOKED_AT`: those that tell jobs apart best.

    A longer row can only be frequent where both shorter ones in it are, so that not all that occurs has to be counted.
    """
    low, high = SUPPORT * len(actions), (1 - SUPPORT) * len(actions)
    found: dict[str, int] = {}
    shorter: set[str] = set()
    for length in LENGTHS:
        counts: Counter[str] = Counter()
        for text in actions:
            counts.update(_parts(text, length, shorter))
        frequent = {part: count for part, count in counts.items() if count >= low}
        found.update(frequent)
        shorter = set(frequent)
    between = [part for part, count in found.items() if count <= high]
    return sorted(between, key=lambda part: (abs(2 * found[part] - len(actions)), part))[:_LOOKED_AT]


def _parts(text: str, length: int, shorter: Container[str]) -> set[str]:
    rows = {text[start : start + length] for start in range(len(text) - length + 1)}
    return rows if length == LENGTHS[0] else {row for row in rows if row[1:] in shorter and row[:-1] in shorter}


def _has(actions: Iterable[str], part: str) -> Floats:
    return np.fromiter((part in text for text in actions), dtype=np.float64)


def _strength(shown: Floats, reward: Floats, strata: Strata) -> float | None:
    """Standard errors from 0; None where fewer than eight strata could tell."""
    found = score(scores(shown, strata).rows, reward, strata)
    if int((found.variance > 1e-12).sum()) < _FEWEST:
        return None
    return abs(found.total) / float(np.sqrt(found.variance.sum()))


def _column(place: int, actions: str, outcome: Outcome, second: Bools) -> Column:
    values = np.full(len(outcome.table), np.nan, dtype=np.float32)
    rows = np.flatnonzero(second)
    values[rows] = _has((outcome.table.actions[row] for row in rows), actions)
    return Column(_behaviour(place, actions), values, kind="mined", actions=actions)


def _behaviour(place: int, actions: str) -> Behaviour:
    names = [ACTIONS.get(sign, sign) for sign in actions]
    return Behaviour(
        id=f"M{place}",
        name=" → ".join(names),
        category="efficiency",
        kind="binary",
        timing="any",
        prior=0,
        definition=f"Does {', then '.join(names)}, one directly after the other.",
        applies=None,
        scored=True,
    )
