"""Which behaviours are listed, and in which order: what is known of their effect first, integrity always, then how often they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchloop_analysis.brm.columns import Column
from benchloop_analysis.brm.records import AMOUNT, Pattern

#: At most so many of one category.
A_CATEGORY = 8
#: Behaviours that go together more than this are listed as one.
SAME = 0.8
_INTEGRITY = "integrity"
_FOUND = ("supported", "suggestive")
#: Where nothing was found: what could be tested before what could not, the catalogue before what has no definition of its own.
_LAST = {"insufficient": 7, "not_applicable": 9}
#: What says more takes in what says less.
_SAYS = {"catalogue": 0, "mined": 1, AMOUNT: 2}
_PAIRED = 30


def listed(patterns: Sequence[Pattern], columns: Sequence[Column], limit: int) -> tuple[Pattern, ...]:
    """At most `limit` patterns, what always comes together merged, in the order worth reading. `columns` are those of the patterns."""
    ranked = _merged(sorted(patterns, key=rank), columns)
    integrity = [one for one in ranked if one.category == _INTEGRITY and (one.prevalence or 0) > 0]
    certain = {one.id for one in integrity[:limit]}
    left = limit - len(certain)
    counted: Counter[str] = Counter(one.category for one in ranked if one.id in certain)
    for one in ranked:
        if left > 0 and one.id not in certain and counted[one.category] < A_CATEGORY:
            certain.add(one.id)
            counted[one.category] += 1
            left -= 1
    return tuple(one for one in ranked if one.id in certain)


def rank(pattern: Pattern) -> tuple[int, float, str]:
    """What is known of an effect comes first, by |shrunken effect| × how many show it; then integrity, then prevalence."""
    if pattern.status in _FOUND and pattern.scored:
        return 2 * _FOUND.index(pattern.status) + (pattern.kind == AMOUNT), -abs(pattern.shrunk_rd or 0.0) * exposed(pattern), pattern.id
    if pattern.category == _INTEGRITY and (pattern.prevalence or 0) > 0:
        return 4, -exposed(pattern), pattern.id
    last = _LAST.get(pattern.status, 5) + (pattern.kind != "catalogue")
    return last, -exposed(pattern), pattern.id


def exposed(pattern: Pattern) -> float:
    """How much of a behaviour there is: its mean, at most 1."""
    return min(1.0, max(0.0, pattern.prevalence or 0.0))


def _merged(ranked: Sequence[Pattern], columns: Sequence[Column]) -> list[Pattern]:
    """Each pattern that nearly always comes with a better one goes into it.

    Integrity stays apart, being looked for by name; and no behaviour of the catalogue goes into a mined one or an amount, which say less.
    """
    places = {column.behaviour.id: place for place, column in enumerate(columns)}
    alike = correlations([column.values for column in columns])
    kept: list[Pattern] = []
    inside: Mapping[str, list[str]] = {one.id: [] for one in ranked}
    for one in sorted(ranked, key=lambda one: (rank(one)[0], _SAYS[one.kind])):
        near = [other for other in kept if alike[places[one.id], places[other.id]] > SAME and other.category != _INTEGRITY]
        host = next((other for other in near if _SAYS[other.kind] <= _SAYS[one.kind]), None)
        if host is None or one.category == _INTEGRITY:
            kept.append(one)
        else:
            inside[host.id].append(one.id)
    return [msgspec.structs.replace(one, same_as=tuple(inside[one.id])) for one in sorted(kept, key=rank)]


def correlations(columns: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """φ, or r for ratios, of each pair over the jobs to which both apply; 0 where fewer than 30 do or one of them never changes."""
    if not columns:
        return np.zeros((0, 0))
    values = np.stack(columns, axis=1)
    there = (~np.isnan(values)).astype(np.float32)
    filled = np.where(there > 0, values, 0).astype(np.float32)
    n = (there.T @ there).astype(np.float64)
    sums = (filled.T @ there).astype(np.float64)  # of the row's behaviour, over the jobs of the pair
    squares = ((filled**2).T @ there).astype(np.float64)
    products = (filled.T @ filled).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = n * squares - sums**2
        found = (n * products - sums * sums.T) / np.sqrt(spread * spread.T)
    return np.where((n >= _PAIRED) & (spread > 1e-3) & (spread.T > 1e-3), np.nan_to_num(found), 0.0)
