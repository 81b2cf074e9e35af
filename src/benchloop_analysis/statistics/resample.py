"""The bootstrap over tasks: whole tasks are drawn again with replacement, because attempts at one task are no independent news."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchloop_analysis.statistics.strata import Floats

RESAMPLES = 1_000
_CELLS = 2_000_000


def draws(clusters: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of resamples × clusters: how often each cluster was drawn."""
    random = np.random.default_rng(seed)
    block = max(1, min(resamples, _CELLS // max(1, clusters)))
    for start in range(0, resamples, block):
        count = min(block, resamples - start)
        yield random.multinomial(clusters, np.full(clusters, 1 / clusters), size=count).astype(np.float64)


def ratios(above: Floats, below: Floats, *, resamples: int, seed: int) -> Floats:
    """Resamples × columns of sum(above) ÷ sum(below), both clusters × columns; NaN where a resample has nothing below."""
    found = []
    for times in draws(len(above), resamples=resamples, seed=seed):
        under = times @ below
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append(np.where(under > 0, (times @ above) / under, np.nan))
    return np.concatenate(found) if found else np.zeros((0, above.shape[1]))


def percentiles(values: Floats, level: float) -> tuple[Floats, Floats]:
    """The middle `level` of each column; NaN where a column has no value."""
    some = ~np.isnan(values).all(axis=0) if len(values) else np.zeros(values.shape[1], dtype=np.bool_)
    low, high = np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    if some.any():
        low[some], high[some] = np.nanquantile(values[:, some], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high
