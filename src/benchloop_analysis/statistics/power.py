"""What a sample could have seen: the smallest effect that is found with 80 % power, and the power at a given effect."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from benchloop_analysis.statistics.strata import Floats

ALPHA = 0.05
POWER = 0.80


def smallest_effect(variance: float, pairs: float, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """In points of reward. `variance` of the score under shuffling, `pairs` the sum that it is divided by; None where there are none."""
    if variance <= 0 or pairs <= 0:
        return None
    return (_z(alpha / 2) + _z(1 - power)) * math.sqrt(variance) / pairs


def smallest_odds_ratio(variance: float, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """The same as an odds ratio above 1: the variance of the score is what it tells about log odds."""
    if variance <= 0:
        return None
    step = (_z(alpha / 2) + _z(1 - power)) / math.sqrt(variance)
    return math.exp(step) if step < 50 else None


def power_of(log_odds: float, variance: float, *, alpha: float = ALPHA) -> float:
    """The chance that a test at `alpha` sees `log_odds`."""
    away = abs(log_odds) * math.sqrt(variance)
    return float(special.ndtr(away - _z(alpha / 2)) + special.ndtr(-away - _z(alpha / 2)))


def even_split(passed: Floats, sizes: Floats) -> tuple[float, float]:
    """Variance and pairs of a behaviour that half of the attempts of each stratum show."""
    failed, most = sizes - passed, np.maximum(sizes - 1, 1)
    shown = np.floor(sizes / 2) * np.ceil(sizes / 2) / np.maximum(sizes, 1)
    return float((shown * passed * failed / (np.maximum(sizes, 1) * most)).sum()), float(shown.sum())


def _z(tail: float) -> float:
    return float(-special.ndtri(tail))
