"""Whether an effect is the same in all strata, also where each has few rows.

Breslow and Day's test (`mantel.tarone_p`) takes the counts of each stratum for normal: with 4 to 8 attempts at a task it calls equal
effects unequal in 12 to 80 % of samples, not in 5 %. The test of Liang and Self (1985) uses the exact moments of each table instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from benchloop_analysis.statistics.mantel import Tables
from benchloop_analysis.statistics.strata import Floats, Ints

_LOG_ODDS = 12.0


@dataclass(frozen=True)
class _Kinds:
    """Tables with equal margins are one kind: `logs` is kinds × values of the table's first cell at odds 1, −inf where there is none."""

    values: Floats
    logs: Floats
    counts: Floats
    index: Ints

    def moments(self, log_odds: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Of each kind the mean and the second to fourth central moments of the first cell."""
        logs = self.logs + self.values * log_odds
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        mean = (chances * self.values).sum(axis=1)
        off = self.values - mean[:, None]
        second, third, fourth = ((chances * off**power).sum(axis=1) for power in (2, 3, 4))
        return mean, second, third, fourth


def homogeneity_p(tables: Tables) -> float | None:
    """p of equal odds ratios against ratios that scatter; None with fewer than two informative strata or an odds ratio of 0 or infinity."""
    live = tables.only(tables.informative)
    if len(live.a) < 2:
        return None
    kinds = _kinds(live)
    total = float(live.a.sum())
    lowest = float((kinds.counts * np.where(np.isfinite(kinds.logs), kinds.values, np.inf).min(axis=1)).sum())
    highest = float((kinds.counts * np.where(np.isfinite(kinds.logs), kinds.values, -np.inf).max(axis=1)).sum())
    if total in (lowest, highest):
        return None
    mean, second, third, fourth = kinds.moments(_common(kinds, total))
    times = kinds.counts
    scattered = float(((live.a - mean[kinds.index]) ** 2).sum())
    information = float((times * second).sum())
    expected = information - float((times * second**2).sum()) / information
    variance = float((times * (fourth - second**2)).sum()) - float((times * third).sum()) ** 2 / information
    if variance <= 1e-12 or expected <= 1e-12:
        return None
    freedom = 2 * expected**2 / variance
    return float(special.chdtrc(freedom, scattered / expected * freedom))


def _common(kinds: _Kinds, total: float) -> float:
    """The log odds ratio at which the expected sum is the observed one, by halving."""
    low, high = -_LOG_ODDS, _LOG_ODDS
    for _ in range(48):
        middle = (low + high) / 2
        if float((kinds.counts * kinds.moments(middle)[0]).sum()) < total:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _kinds(tables: Tables) -> _Kinds:
    margins = np.stack([tables.shown, tables.passed, tables.sizes])
    kinds, index, counts = np.unique(margins, axis=1, return_inverse=True, return_counts=True)
    shown, passed, sizes = (row[:, None] for row in kinds)
    lowest, highest = np.maximum(0, shown + passed - sizes), np.minimum(shown, passed)
    values = lowest + np.arange(int((highest - lowest).max()) + 1)[None, :]
    there = values <= highest
    inside = np.where(there, values, lowest)
    logs = -(
        special.gammaln(inside + 1)
        + special.gammaln(shown - inside + 1)
        + special.gammaln(passed - inside + 1)
        + special.gammaln(sizes - shown - passed + inside + 1)
    )
    return _Kinds(inside, np.where(there, logs, -np.inf), counts.astype(np.float64), index.reshape(-1).astype(np.int64))
