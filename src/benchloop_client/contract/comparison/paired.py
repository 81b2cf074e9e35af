"""Statistics of pairs, in plain Python: did B do otherwise than A on the very same tasks, or is it chance?"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Resamples of a bootstrap, and how many draws all of them together may take: beyond, there are fewer, never below the least.
RESAMPLES = 2000
LEAST_RESAMPLES = 200
_DRAWS = 10_000_000
#: Up to so many distinct differences a resample is drawn by how often each comes up.
_FEW = 64


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of `pairs` differences with its interval at `level` (0.95: it covers the true mean 95 times in 100)."""

    pairs: int
    mean: float
    low: float
    high: float
    level: float
    resamples: int
    seed: int


def mcnemar(lost: int, won: int) -> float:
    """The exact two-sided p value of McNemar's test: `lost` pairs went from pass to fail, `won` from fail to pass.

    Under "no difference" each of these goes either way like a fair coin: p = min(1, 2 P(X <= min(lost, won))) with X binomial(lost + won,
    1/2). 1 when there are none. Pairs that passed twice or failed twice say nothing. Raises `ValueError` for negative counts.
    """
    if lost < 0 or won < 0:
        raise ValueError("counts of pairs are not negative")
    n, least = lost + won, min(lost, won)
    term = tail = 1
    for k in range(least):
        term = term * (n - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def least_p(differing: int) -> float:
    """The smallest two-sided p value that a test of `differing` pairs can give at all: all of them differ in the same direction."""
    return min(1.0, math.ldexp(2.0, -differing))


def bootstrap_mean(differences: Sequence[float], *, level: float = 0.95, seed: int = 0) -> Interval | None:
    """The mean of `differences` and its percentile interval, by drawing the pairs anew with replacement; None for no pairs.

    The same differences, level and seed give the same interval, in any order of the differences; with all signs turned, the mirrored one.
    Raises `ValueError` for a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError("a level is between 0 and 1")
    if not differences:
        return None
    ordered, mirrored = sorted(differences), sorted(-difference for difference in differences)
    sign = 1 if ordered >= mirrored else -1
    means = _resampled(max(ordered, mirrored), random.Random(seed))
    tail = (1 - level) / 2
    ends = sorted((sign * _quantile(means, tail), sign * _quantile(means, 1 - tail)))
    mean = math.fsum(ordered) / len(ordered)
    return Interval(len(ordered), mean, ends[0], ends[1], level=level, resamples=len(means), seed=seed)


def _resampled(values: Sequence[float], draws: random.Random) -> list[float]:
    """Means of resamples of `values`, in order of size."""
    n = len(values)
    counts = Counter(values)
    if len(counts) <= _FEW:
        return sorted(_mean_by_counts(counts, n, draws) for _ in range(RESAMPLES))
    resamples = max(LEAST_RESAMPLES, min(RESAMPLES, _DRAWS // n))
    return sorted(math.fsum(draws.choices(values, k=n)) / n for _ in range(resamples))


def _mean_by_counts(counts: Mapping[float, int], n: int, draws: random.Random) -> float:
    """The mean of one resample, drawn value by value instead of pair by pair: how often each value comes up is all that counts."""
    total, to_draw, left = 0.0, n, n
    for value, count in counts.items():
        drawn = _binomial(to_draw, count, left, draws)
        total += drawn * value
        to_draw, left = to_draw - drawn, left - count
    return total / n


def _binomial(trials: int, numerator: int, denominator: int, draws: random.Random) -> int:
    """How many of `trials` succeed at the chance numerator / denominator, exactly.

    Each trial is a number in [0, 1) whose binary digits are drawn for all trials at once; it succeeds if it is below the chance, which is
    settled at the first digit where the two differ.
    """
    if numerator >= denominator:
        return trials
    succeeded, rest = 0, numerator
    while trials and rest:
        rest *= 2
        ones = draws.getrandbits(trials).bit_count()
        if rest >= denominator:
            rest -= denominator
            succeeded += trials - ones
            trials = ones
        else:
            trials -= ones
    return succeeded


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between the two nearest."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
