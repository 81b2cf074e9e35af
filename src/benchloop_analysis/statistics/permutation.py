"""The test by shuffling within strata: how often chance alone takes a sum as far as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from benchloop_analysis.statistics.strata import Floats, Ints, Strata

PMethod = Literal["exact", "permutation", "normal"]
#: Beyond this many rows, in all or in a stratum, the arrangements' mean and variance are as good as drawing them.
MOST_ROWS, MOST_ROWS_A_STRATUM = 2_000, 100
_CHUNK = 500
_CLOSE = 1e-9


@dataclass(frozen=True)
class Score:
    """The sum over rows of score × reward; its mean is 0 under shuffling. `variance` is by stratum, under shuffling."""

    by_stratum: Floats
    variance: Floats

    @property
    def total(self) -> float:
        """The observed sum."""
        return float(self.by_stratum.sum())


def score(rows: Floats, reward: Floats, strata: Strata) -> Score:
    """The sum, and its variance over all ways to shuffle `reward` within strata. `rows` must add up to 0 in each stratum."""
    gap = strata.centred(reward)
    spread = strata.sums(rows**2) * strata.sums(gap**2)
    return Score(strata.sums(rows * gap), spread / np.maximum(strata.sizes - 1, 1))


def normal_p(found: Score) -> float | None:
    """Two-sided p from the variance under shuffling; None where no shuffling changes anything."""
    spread = float(found.variance.sum())
    return None if spread <= 0 else float(2 * special.ndtr(-abs(found.total) / np.sqrt(spread)))


def permutation_p(rows: Floats, reward: Floats, strata: Strata, *, draws: int, seed: int) -> tuple[float | None, PMethod]:
    """Two-sided mid-p from `draws` shuffles of `reward` within strata; with very many rows from mean and variance instead."""
    found = score(rows, reward, strata)
    live = (found.variance > 0)[strata.index]
    if not live.any():
        return None, "permutation"
    rows_a_stratum = live.sum() / (found.variance > 0).sum()
    if live.sum() > MOST_ROWS or rows_a_stratum > MOST_ROWS_A_STRATUM:
        return normal_p(found), "normal"
    order = np.argsort(strata.index[live], kind="stable")
    drawn = shuffled_sums(rows[live][order], reward[live][order], strata.index[live][order], draws=draws, seed=seed)
    observed = abs(float((rows[live] * reward[live]).sum()))
    away = np.abs(drawn)
    further = int((away > observed + _CLOSE).sum())
    as_far = int((np.abs(away - observed) <= _CLOSE).sum())
    return (further + (as_far + 1) / 2) / (draws + 1), "permutation"


def shuffled_sums(rows: Floats, reward: Floats, index: Ints, *, draws: int, seed: int) -> Floats:
    """`draws` sums of score × shuffled reward; the rows must stand in the order of `index`."""
    random = np.random.default_rng(seed)
    sums = []
    for start in range(0, draws, _CHUNK):
        lots = random.random((min(_CHUNK, draws - start), len(rows)))
        sums.append(reward[np.argsort(lots + index, axis=1)] @ rows)
    return np.concatenate(sums)
