"""Which jobs are worth showing for a behaviour: of one task, an attempt that shows it and one that does not, with unequal rewards."""

from __future__ import annotations

from typing import Literal

import numpy as np

from benchloop_analysis.brm.columns import Column
from benchloop_analysis.brm.effects import Context
from benchloop_analysis.brm.records import Example
from benchloop_analysis.statistics.strata import Bools, Ints, Strata

MOST = 3


def examples(column: Column, context: Context) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Up to three jobs that show the behaviour and three that do not, side by side from tasks where rewards differ too.

    Of a ratio, shown is above the median of the stratum. Where no task has both, jobs that show it stand alone.
    """
    table, outcome = context.outcome.table, context.outcome
    kept = outcome.valid & ~np.isnan(column.values) & ~np.isnan(context.better)
    places = np.flatnonzero(kept)
    if not len(places):
        return (), ()
    strata = Strata.of(table.stratum[places])
    shown = _shown(column.values[places].astype(np.float64), strata, binary=column.behaviour.kind == "binary")
    sides = _sides(shown, context.better[places], strata)
    pairs = sides[:MOST]
    if not pairs:
        return tuple(_example(int(place), context) for place in places[shown][:MOST]), ()
    return tuple(_example(int(places[one]), context) for one, _ in pairs), tuple(
        _example(int(places[other]), context) for _, other in pairs
    )


def _shown(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], strata: Strata, *, binary: bool) -> Bools:
    return np.asarray(values > 0.5) if binary else np.asarray(strata.centred(values) > 1e-9)


def _sides(shown: Bools, better: np.ndarray[tuple[int, ...], np.dtype[np.float64]], strata: Strata) -> list[tuple[int, int]]:
    """A job that shows it and one of the same stratum that does not, with different outcomes, for each stratum that has both."""
    found: dict[int, tuple[int, int]] = {}
    first: dict[tuple[int, bool, bool], int] = {}
    wanted: Ints = strata.index
    for place in range(len(wanted)):
        key = (int(wanted[place]), bool(shown[place]), bool(better[place] > 0))
        first.setdefault(key, place)
        other = first.get((key[0], not key[1], not key[2]))
        if other is not None and key[0] not in found:
            found[key[0]] = (place, other) if key[1] else (other, place)
            if len(found) >= MOST:
                break
    return [found[key] for key in sorted(found)]


def _example(place: int, context: Context) -> Example:
    table = context.outcome.table
    outcome: Literal["pass", "fail"] = "pass" if context.better[place] > 0 else "fail"
    return Example(job=table.job_ids[place], task=table.task_ids[table.task[place]], outcome=outcome, reward=float(table.reward[place]))
