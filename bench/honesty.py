"""How often the statistics say what is not so, miss what is, and hold the truth: counted over groups whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.simulated import World, group, truth
from benchloop_analysis.brm.effects import FEWEST
from benchloop_analysis.statistics import mantel, multiple, power
from benchloop_analysis.statistics.compare import Options, Rows, compare, tables_of
from benchloop_analysis.statistics.homogeneity import homogeneity_p
from benchloop_analysis.statistics.strata import Strata

ALPHA = 0.05
#: Behaviours beside the planted one where q decides, as many as the catalogue has.
NULLS = 39


@dataclass(frozen=True)
class Share:
    """`count` of `of` groups."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share."""
        return self.count / self.of

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} %"


def false_alarms(world: World, groups: int, *, seed: int, draws: int = 1_000) -> Share:
    """p < 0.05 of a behaviour that does nothing, where enough strata could tell."""
    random = np.random.default_rng(seed)
    exact = world.kind == world.reward == "binary"
    ps = []
    for place in range(groups):
        rows = group(world, random)[0]
        told = _exact(rows) if exact else _drawn(rows, Options(draws=draws, seed=seed + place))
        if told is not None:
            ps.append(told)
    return Share(sum(p < ALPHA for p in ps), len(ps))


def _exact(rows: Rows) -> float | None:
    """The exact p alone: intervals are not needed here."""
    tables = tables_of(rows, Strata.of(rows.stratum))
    live = tables.only(tables.informative)
    return live.exact().mid_p(float(live.a.sum())) if len(live.a) >= FEWEST else None


def _drawn(rows: Rows, options: Options) -> float | None:
    found = compare(rows, options)
    return found.p if found.informative_strata >= FEWEST else None


def unequal(world: World, groups: int, *, seed: int, usual: bool = False) -> Share:
    """p < 0.05 for effects that differ between tasks; `usual` by Breslow and Day's test with Tarone's correction, which is not used."""
    random = np.random.default_rng(seed)
    test = mantel.tarone_p if usual else homogeneity_p
    ps = []
    for _ in range(groups):
        rows = group(world, random)[0]
        p = test(tables_of(rows, Strata.of(rows.stratum)))
        if p is not None:
            ps.append(p)
    return Share(sum(p < ALPHA for p in ps), len(ps))


def coverage(world: World, groups: int, *, seed: int) -> Share:
    """Intervals that hold the true effect."""
    random, aim = np.random.default_rng(seed), truth(world)
    held = told = 0
    for _ in range(groups):
        effect = compare(group(world, random)[0], Options(), test=False)
        if effect.low is not None and effect.high is not None:
            told += 1
            held += effect.low <= aim <= effect.high
    return Share(held, told)


def greenland_robins_coverage(world: World, groups: int, *, seed: int) -> Share:
    """The same with the variance of Greenland and Robins, which is commonly used."""
    random, aim = np.random.default_rng(seed), truth(world)
    held = told = 0
    for _ in range(groups):
        rows: Rows = group(world, random)[0]
        tables = tables_of(rows, Strata.of(rows.stratum))
        value, variance = mantel.risk_difference(tables), mantel.greenland_robins_variance(tables)
        if value is not None and variance is not None:
            told += 1
            held += abs(value - aim) <= Options().z * np.sqrt(variance)
    return Share(held, told)


@dataclass(frozen=True)
class Power:
    """Of the groups: how often p < 0.05 and q ≤ 0.10 among 40 behaviours; what the size of the groups predicts for both.

    `false` is the mean share of false ones among what was found.
    """

    at_p: Share
    at_q: Share
    predicted_p: float
    predicted_q: float
    false: float


def seen(world: World, groups: int, *, seed: int) -> Power:
    """Power for the planted behaviour among 39 that do nothing."""
    random = np.random.default_rng(seed)
    at_p = at_q = 0
    variances, false = [], []
    for _ in range(groups):
        rows = group(world, random, NULLS)
        ps = [1.0 if (p := _exact(one)) is None else p for one in rows]
        qs = multiple.benjamini_hochberg(ps)
        at_p += ps[0] < ALPHA
        at_q += qs[0] <= multiple.Q_LIMIT
        found = [place for place, q in enumerate(qs) if q <= multiple.Q_LIMIT]
        false.append(sum(place > 0 for place in found) / max(1, len(found)))
        variances.append(_information(rows[0]))
    variance, odds = float(np.mean(variances)), float(np.log(world.odds))
    alone = multiple.Q_LIMIT / (NULLS + 1)
    return Power(
        Share(at_p, groups),
        Share(at_q, groups),
        power.power_of(odds, variance),
        power.power_of(odds, variance, alpha=alone),
        float(np.mean(false)),
    )


def _information(rows: Rows) -> float:
    tables = tables_of(rows, Strata.of(rows.stratum))
    live = tables.only(tables.informative)
    failed = live.sizes - live.passed
    return float((live.shown * live.hidden * live.passed * failed / (live.sizes**2 * (live.sizes - 1))).sum())
