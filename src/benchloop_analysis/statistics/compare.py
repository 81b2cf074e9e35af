"""One behaviour compared with the reward within strata: the effect, its interval, its test, and what could have been seen.

The effect is Σ (reward gained by who has more of the behaviour, over pairs) ÷ Σ pairs, each stratum's pairs divided by its rows. For a
behaviour and a reward of 0 and 1 that is the Mantel–Haenszel risk difference; for other rewards the within-stratum mean difference; for
ratios, Somers' D within the stratum. One definition, so that all effects are in the same unit and can be ranked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from benchloop_analysis.statistics import mantel, permutation, power
from benchloop_analysis.statistics.permutation import PMethod
from benchloop_analysis.statistics.strata import Bools, Floats, Ints, Scores, Strata, is_binary, scores

_FEW = 1e-12


@dataclass(frozen=True)
class Rows:
    """Rows to compare, all applicable and with a reward. `weight` is equal within a stratum; `cluster` is the task of each row."""

    behaviour: Floats
    reward: Floats
    stratum: Ints
    cluster: Ints
    weight: Floats

    def only(self, which: Bools) -> Rows:
        """Some of the rows."""
        return Rows(self.behaviour[which], self.reward[which], self.stratum[which], self.cluster[which], self.weight[which])

    def pooled(self) -> Rows:
        """The same rows as if all were attempts at one task."""
        nothing = np.zeros(len(self.stratum), dtype=np.int64)
        return replace(self, stratum=nothing, weight=np.ones(len(self.stratum)))


@dataclass(frozen=True)
class Options:
    """How to compare: the level of intervals, and for tests that draw arrangements how many and from which seed."""

    level: float = 0.95
    draws: int = 5_000
    seed: int = 0

    @property
    def z(self) -> float:
        """Standard errors on each side of an interval."""
        return float(special.ndtri((1 + self.level) / 2))


@dataclass(frozen=True)
class Effect:
    """What was found; None where it cannot be known. `error` is the standard error of `value`, `smallest` what 80 % power sees."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    p: float | None = None
    p_method: PMethod | None = None
    cmh_p: float | None = None
    odds_ratio: mantel.OddsRatio | None = None
    informative_strata: int = 0
    informative_clusters: int = 0
    smallest: float | None = None


@dataclass(frozen=True)
class _Parts:
    """What the estimate is made of: by stratum what was gained over how many pairs, weighted; `most` is the largest possible effect."""

    strata: Strata
    scores: Scores
    gained: Floats
    pairs: Floats
    weight: Floats
    cluster: Ints
    variance: Floats
    most: float

    @property
    def value(self) -> float:
        return float(self.gained.sum() / self.pairs.sum())


def compare(rows: Rows, options: Options, *, test: bool = True) -> Effect:
    """Compare. Without `test` there is no p from drawing; an empty effect where no stratum has two values of the behaviour."""
    if not len(rows.reward):
        return Effect()
    parts = _parts(rows)
    live = parts.variance > 0
    counted = Effect(informative_strata=int(live.sum()), informative_clusters=len(np.unique(parts.cluster[live])))
    if float(parts.pairs.sum()) <= 0:
        return counted
    tables = tables_of(rows, parts.strata) if is_binary(rows.behaviour) and is_binary(rows.reward) else None
    widen, error = _spread(parts)
    low, high = _interval(parts, tables, options, (widen, error))
    found = replace(
        counted,
        value=parts.value,
        low=low,
        high=high,
        error=error,
        smallest=power.smallest_effect(float((parts.weight**2 * parts.variance).sum()), float(parts.pairs.sum())),
    )
    if tables is not None:
        found = replace(found, odds_ratio=mantel.odds_ratio(tables, options.z), cmh_p=mantel.cmh_p(tables))
    return _tested(found, rows, (parts, tables), options) if test else found


def _parts(rows: Rows) -> _Parts:
    strata = Strata.of(rows.stratum)
    given = scores(rows.behaviour, strata)
    found = permutation.score(given.rows, rows.reward, strata)
    one = strata.one_of()
    weight = rows.weight[one]
    return _Parts(
        strata,
        given,
        found.by_stratum * weight,
        given.pairs * weight,
        weight,
        rows.cluster[one],
        _clean(found.variance),
        float(np.ptp(rows.reward)),
    )


def _clean(variance: Floats) -> Floats:
    """Rounding is no information."""
    return np.where(variance > _FEW, variance, 0.0)


def tables_of(rows: Rows, strata: Strata) -> mantel.Tables:
    """The 2 × 2 counts of each stratum."""
    shown, passed = rows.behaviour, rows.reward
    a, both = strata.sums(shown * passed), strata.sums(passed)
    return mantel.Tables(a, strata.sums(shown) - a, both - a, strata.sizes - strata.sums(shown) - both + a)


def _spread(parts: _Parts) -> tuple[float, float | None]:
    """The variance that the differences between tasks show, and the standard error from it; (0, None) with fewer than two tasks."""
    clusters = Strata.of(parts.cluster)
    gained, pairs = clusters.sums(parts.gained), clusters.sums(parts.pairs)
    used = int((pairs > 0).sum())
    if used < 2:
        return 0.0, None
    off = gained - parts.value * pairs
    variance = float((off**2).sum()) / float(pairs.sum()) ** 2 * used / (used - 1)
    return variance, float(np.sqrt(variance)) if variance > 0 else None


def _interval(
    parts: _Parts, tables: mantel.Tables | None, options: Options, spread: tuple[float, float | None]
) -> tuple[float | None, float | None]:
    """For 0 and 1 Klingenberg's score interval, widened by what tasks differ beyond chance; else from the differences between tasks.

    The variance of Greenland and Robins is not used: with 4 to 8 attempts at a task its 95 % interval holds the truth in 67 to 88 % of
    samples, because an arm of one attempt has no variance there.
    """
    variance, error = spread
    if tables is not None:
        p, q = mantel.sato_parts(tables, parts.weight)
        expected = (parts.value * p + q) / float(parts.pairs.sum()) ** 2
        widen = max(1.0, variance / expected) if expected > 0 else 1.0
        return mantel.score_interval(tables, parts.weight, options.z, widen) or (None, None)
    used = len(np.unique(parts.cluster[parts.pairs > 0]))
    if error is None or used < 2:
        return None, None
    half = float(special.stdtrit(used - 1, (1 + options.level) / 2)) * error
    return max(-parts.most, parts.value - half), min(parts.most, parts.value + half)


def _tested(found: Effect, rows: Rows, made: tuple[_Parts, mantel.Tables | None], options: Options) -> Effect:
    parts, tables = made
    if tables is not None:
        live = tables.only(tables.informative)
        if not len(live.a):
            return found
        return replace(found, p=live.exact().mid_p(float(live.a.sum())), p_method="exact")
    p, method = permutation.permutation_p(parts.scores.rows, rows.reward, parts.strata, draws=options.draws, seed=options.seed)
    return replace(found, p=p, p_method=method if p is not None else None)


def adjusted(rows: Rows, other: Floats) -> float | None:
    """The effect among rows with equal `other`: the score is freed of what goes with it within the stratum. None without an effect."""
    parts = _parts(rows)
    pairs = float(parts.pairs.sum())
    if pairs <= 0:
        return None
    strata = parts.strata
    weight = rows.weight
    beside = strata.centred(other)
    below = float((weight * beside**2).sum())
    mine = parts.scores.rows
    free = mine - beside * (float((weight * mine * beside).sum()) / below) if below > 0 else mine
    left = float((weight * free**2).sum())
    whole = float((weight * mine**2).sum())
    if left <= 1e-9 * whole:
        return None
    return float((weight * free * rows.reward).sum() / left * whole / pairs)


def differences(rows: Rows) -> Floats:
    """The effect in each stratum that has two values of the behaviour."""
    parts = _parts(rows)
    some = parts.pairs > 0
    return np.asarray(parts.gained[some] / parts.pairs[some])
