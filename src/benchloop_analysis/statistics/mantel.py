"""Mantel and Haenszel: risk difference, odds ratio and test over many 2 × 2 tables, and whether the tables agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from benchloop_analysis.statistics.exact import SumOfTables, log_odds_where, sum_of_tables
from benchloop_analysis.statistics.strata import Bools, Floats

Range = tuple["float | None", "float | None"]


@dataclass(frozen=True)
class Tables:
    """Counts by stratum: `a` show the behaviour and pass, `b` show it and fail, `c` do not and pass, `d` do not and fail."""

    a: Floats
    b: Floats
    c: Floats
    d: Floats

    @property
    def shown(self) -> Floats:
        """Rows that show the behaviour."""
        return self.a + self.b

    @property
    def hidden(self) -> Floats:
        """Rows that do not."""
        return self.c + self.d

    @property
    def passed(self) -> Floats:
        """Rows that pass."""
        return self.a + self.c

    @property
    def sizes(self) -> Floats:
        """Rows of each stratum."""
        return self.shown + self.hidden

    @property
    def informative(self) -> Bools:
        """Strata with both values of both."""
        failed = self.sizes - self.passed
        return np.asarray((self.shown > 0) & (self.hidden > 0) & (self.passed > 0) & (failed > 0))

    def only(self, which: Bools) -> Tables:
        """Some of the strata."""
        return Tables(self.a[which], self.b[which], self.c[which], self.d[which])

    def exact(self) -> SumOfTables:
        """The distribution of the sum of `a` over these strata with all margins given."""
        shown, passed, sizes = (np.rint(part).astype(np.int64) for part in (self.shown, self.passed, self.sizes))
        return sum_of_tables(shown, passed, sizes)


@dataclass(frozen=True)
class OddsRatio:
    """The common odds ratio with its interval; `high` None: no end above, `low` 0.0: none below."""

    value: float
    low: float
    high: float | None


def risk_difference(tables: Tables, weights: Floats | None = None) -> float | None:
    """Mantel–Haenszel: the mean difference between rows that show it and others, weighted by pairs; None where none differ."""
    weight = _pairs(tables) * (1.0 if weights is None else weights)
    total = float(weight.sum())
    if total == 0:
        return None
    return float((_gained(tables) * (1.0 if weights is None else weights)).sum() / total)


def _pairs(tables: Tables) -> Floats:
    return np.asarray(tables.shown * tables.hidden / np.maximum(tables.sizes, 1))


def _gained(tables: Tables) -> Floats:
    return np.asarray((tables.a * tables.hidden - tables.c * tables.shown) / np.maximum(tables.sizes, 1))


def greenland_robins_variance(tables: Tables) -> float | None:
    """The variance that is commonly given with the risk difference. Far too small where strata have few rows: see `score_interval`."""
    both = (tables.shown > 0) & (tables.hidden > 0)
    part = tables.only(both)
    total = float(_pairs(part).sum())
    if total == 0:
        return None
    spread = part.a * part.b * part.hidden**3 + part.c * part.d * part.shown**3
    return float((spread / (part.shown * part.hidden * part.sizes**2)).sum()) / total**2


def sato_parts(tables: Tables, weights: Floats) -> tuple[float, float]:
    """Sato's variance of the risk difference δ is (δ P + Q) ÷ (pairs)²: P and Q, right for many small strata and for few large ones."""
    shown, hidden, size = tables.shown, tables.hidden, np.maximum(tables.sizes, 1)
    p = (shown**2 * tables.c - hidden**2 * tables.a + shown * hidden * (hidden - shown) / 2) / size**2
    q = (tables.a * tables.d + tables.c * tables.b) / (2 * size)
    return float((weights**2 * p).sum()), float((weights**2 * q).sum())


def score_interval(tables: Tables, weights: Floats, z: float, widen: float = 1.0) -> tuple[float, float] | None:
    """The risk differences δ that Sato's variance at δ does not rule out (Klingenberg 2014); `widen` multiplies the variance."""
    difference = risk_difference(tables, weights)
    total = float((_pairs(tables) * weights).sum())
    if difference is None:
        return None
    p, q = sato_parts(tables, weights)
    square = z * z * widen
    middle = difference + square * p / (2 * total**2)
    half = np.sqrt(max(0.0, middle**2 - difference**2 + square * q / total**2))
    return max(-1.0, float(middle - half)), min(1.0, float(middle + half))


def odds_ratio(tables: Tables, z: float) -> OddsRatio | None:
    """The Mantel–Haenszel odds ratio with the interval of Robins, Breslow and Greenland; None without an informative stratum.

    Where an empty cell makes it 0 or infinite, the median-unbiased estimate and the exact mid-p interval, which is open on that side.
    """
    part = tables.only(tables.informative)
    if not len(part.a):
        return None
    size = part.sizes
    r, s = part.a * part.d / size, part.b * part.c / size
    up, down = float(r.sum()), float(s.sum())
    if up == 0 or down == 0:
        return _exact_odds_ratio(part, z)
    p, q = (part.a + part.d) / size, (part.b + part.c) / size
    variance = (p * r).sum() / (2 * up**2) + (p * s + q * r).sum() / (2 * up * down) + (q * s).sum() / (2 * down**2)
    half = z * np.sqrt(float(variance))
    return OddsRatio(up / down, float(up / down * np.exp(-half)), float(up / down * np.exp(half)))


def _exact_odds_ratio(tables: Tables, z: float) -> OddsRatio:
    sums = tables.exact()
    total = float(tables.a.sum())
    tail = float(special.ndtr(-z))
    if round(total) == sums.lowest:
        value = log_odds_where(sums, total, 0.5, half=0.0)
        return OddsRatio(float(np.exp(value)), 0.0, float(np.exp(log_odds_where(sums, total, 1 - tail))))
    value = log_odds_where(sums, total, 0.5, half=1.0)
    return OddsRatio(float(np.exp(value)), float(np.exp(log_odds_where(sums, total, tail))), None)


def cmh_p(tables: Tables) -> float | None:
    """Cochran, Mantel and Haenszel without continuity correction; None without an informative stratum."""
    part = tables.only(tables.informative)
    if not len(part.a):
        return None
    variance = part.shown * part.hidden * part.passed * (part.sizes - part.passed) / (part.sizes**2 * (part.sizes - 1))
    return float(special.chdtrc(1, _gained(part).sum() ** 2 / variance.sum()))


def tarone_p(tables: Tables) -> float | None:
    """Breslow and Day's test that the odds ratio is the same in every stratum, with Tarone's correction.

    None where it is not defined: fewer than two informative strata, or an odds ratio of 0 or infinity.
    """
    part = tables.only(tables.informative)
    r, s = float((part.a * part.d / part.sizes).sum()), float((part.b * part.c / part.sizes).sum())
    if len(part.a) < 2 or r == 0 or s == 0:
        return None
    ratio = r / s
    linear = ratio * (part.shown + part.passed) + part.hidden - part.passed
    root = np.sqrt(np.maximum(0.0, linear**2 - 4 * (1 - ratio) * -ratio * part.shown * part.passed))
    expected = 2 * ratio * part.shown * part.passed / (linear + root)
    cells = (expected, part.passed - expected, part.shown - expected, part.hidden - part.passed + expected)
    variance = 1 / sum((1 / np.maximum(cell, 1e-12) for cell in cells), np.zeros(len(part.a)))
    statistic = ((part.a - expected) ** 2 / variance).sum() - (part.a - expected).sum() ** 2 / variance.sum()
    return float(special.chdtrc(len(part.a) - 1, max(0.0, float(statistic))))
