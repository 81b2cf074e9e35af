"""The exact conditional distribution of a sum over 2 × 2 tables: with all margins given, each table adds a hypergeometric count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import fft, special

from benchloop_analysis.statistics.strata import Floats, Ints

#: Up to this many different sums they are added table by table, which keeps even tiny chances right; beyond it by Fourier transform.
_DIRECT = 2_048
_CLOSE = 1e-9
_LOG_ODDS = 30.0


@dataclass(frozen=True)
class SumOfTables:
    """`chances[k]` is the chance that the shown passes add up to `lowest` + k where the odds ratio is 1."""

    lowest: int
    chances: Floats

    @property
    def mean(self) -> float:
        """The expected sum."""
        return self.lowest + float(self.chances @ np.arange(len(self.chances)))

    def mid_p(self, total: float) -> float:
        """Two-sided: how likely a sum further from the mean is, plus half of those as far."""
        away = np.abs(self.lowest + np.arange(len(self.chances)) - self.mean)
        observed = abs(total - self.mean)
        further = away > observed + _CLOSE
        as_far = np.abs(away - observed) <= _CLOSE
        return float(min(1.0, self.chances[further].sum() + self.chances[as_far].sum() / 2))

    def tail(self, total: float, log_odds: float, *, half: float = 0.5) -> float:
        """The chance of a larger sum plus `half` that of this sum, where the odds ratio of every table is exp(`log_odds`)."""
        places = np.arange(len(self.chances), dtype=np.float64)
        with np.errstate(divide="ignore"):
            logs = np.log(self.chances) + places * log_odds
        tilted = np.exp(logs - logs.max())
        place = round(total) - self.lowest
        return float((tilted[place + 1 :].sum() + half * tilted[place]) / tilted.sum())


def sum_of_tables(shown: Ints, passed: Ints, sizes: Ints) -> SumOfTables:
    """Over tables of `sizes` rows, `shown` of which show the behaviour and `passed` of which pass: how many do both."""
    base = int(sizes.max()) + 1 if len(sizes) else 1
    keys, counts = np.unique((sizes * base + shown) * base + passed, return_counts=True)
    kinds = np.stack([keys // base % base, keys % base, keys // base**2])
    lowest = np.maximum(0, kinds[0] + kinds[1] - kinds[2])
    highest = np.minimum(kinds[0], kinds[1])
    width = int(((highest - lowest) * counts).sum()) + 1
    tables = [_table(*map(int, kind)) for kind in kinds.T]
    chances = _directly(tables, counts) if width <= _DIRECT else _by_transform(tables, counts, width)
    return SumOfTables(int((lowest * counts).sum()), chances)


@lru_cache(maxsize=2_048)
def _table(shown: int, passed: int, size: int) -> Floats:
    found = np.arange(max(0, shown + passed - size), min(shown, passed) + 1, dtype=np.float64)
    logs = _log_choose(shown, found) + _log_choose(size - shown, passed - found) - _log_choose(size, np.float64(passed))
    return np.asarray(np.exp(logs))


def _log_choose(of: int, count: Floats | np.float64) -> Floats:
    return np.asarray(special.gammaln(of + 1) - special.gammaln(count + 1) - special.gammaln(of - count + 1))


def _directly(tables: list[Floats], counts: Ints) -> Floats:
    total = np.ones(1)
    for table, count in zip(tables, counts, strict=True):
        for _ in range(int(count)):
            total = np.convolve(total, table)
    return np.asarray(total / total.sum(), dtype=np.float64)


def _by_transform(tables: list[Floats], counts: Ints, width: int) -> Floats:
    length = fft.next_fast_len(width, real=True)
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    for table, count in zip(tables, counts, strict=True):
        product *= fft.rfft(table, length) ** int(count)
    chances = np.maximum(fft.irfft(product, length)[:width], 0.0)
    return np.asarray(chances / chances.sum())


def log_odds_where(tables: SumOfTables, total: float, chance: float, *, half: float = 0.5) -> float:
    """The log odds ratio at which `tail` is `chance`, by halving; at most ±30."""
    low, high = -_LOG_ODDS, _LOG_ODDS
    for _ in range(60):
        middle = (low + high) / 2
        if tables.tail(total, middle, half=half) < chance:
            low = middle
        else:
            high = middle
    return (low + high) / 2
