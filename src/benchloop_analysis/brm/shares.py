"""How often a behaviour is shown, weighted to the whole group, with an interval that knows that attempts at one task are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchloop_analysis.statistics.strata import Floats, Ints, Strata


@dataclass(frozen=True)
class Mean:
    """A weighted mean of `n` jobs with its interval; None where there are none."""

    n: int
    value: float | None
    low: float | None
    high: float | None


def mean(values: Floats, weight: Floats, cluster: Ints, z: float) -> Mean:
    """The mean. Of shares the interval is Wilson's with as many jobs as the differences between tasks are worth.

    Where all jobs agree nothing shows how alike attempts are: then each task counts as one job. Values beyond 0 and 1 have the interval of
    a mean; None with fewer than two tasks.
    """
    total = float(weight.sum())
    if not len(values) or total <= 0:
        return Mean(len(values), None, None, None)
    value = float((weight * values).sum()) / total
    clusters = Strata.of(cluster)
    off = clusters.sums(weight * (values - value))
    variance = float((off**2).sum()) / total**2 * clusters.count / max(1, clusters.count - 1)
    if float(values.min()) < 0 or float(values.max()) > 1:
        half = z * float(np.sqrt(variance))
        return Mean(len(values), value, *((value - half, value + half) if clusters.count > 1 else (None, None)))
    return Mean(len(values), value, *_wilson(value, _worth(value, variance, (clusters.count, len(values))), z))


def _worth(value: float, variance: float, counts: tuple[int, int]) -> float:
    clusters, rows = counts
    if variance <= 1e-12 or clusters < 2:
        return float(clusters)
    return min(float(rows), max(1.0, value * (1 - value) / variance))


def _wilson(value: float, of: float, z: float) -> tuple[float, float]:
    square = z * z
    centre = value + square / (2 * of)
    half = z * float(np.sqrt(max(0.0, value * (1 - value) / of + square / (4 * of * of))))
    return max(0.0, (centre - half) / (1 + square / of)), min(1.0, (centre + half) / (1 + square / of))
