"""Many tests at once: false discoveries held down, and single effects pulled towards what most of them are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchloop_analysis.statistics.strata import Floats

Q_LIMIT = 0.10


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """The q of each p, in their order: of the findings up to a q, that share is expected to be false."""
    values = np.asarray(p, dtype=np.float64)
    if not len(values):
        return []
    order = np.argsort(values, kind="stable")
    raised = values[order] * len(values) / np.arange(1, len(values) + 1)
    q = np.empty(len(values))
    q[order] = np.minimum(1.0, np.minimum.accumulate(raised[::-1])[::-1])
    return [float(one) for one in q]


def shrinkage(effects: Floats, errors: Floats) -> Floats:
    """What part of each effect is left by empirical Bayes: τ² ÷ (τ² + error²), with τ² the variance of true effects around 0.

    τ² is the mean of effect² − error², weighted by how sure each is, and at least 0. An error of 0 leaves nothing to judge by: NaN.
    """
    sure = np.isfinite(effects) & np.isfinite(errors) & (errors > 0)
    if not sure.any():
        return np.full(len(effects), np.nan)
    weight = 1 / errors[sure] ** 2
    between = max(0.0, float((weight * (effects[sure] ** 2 - errors[sure] ** 2)).sum() / weight.sum()))
    left = np.full(len(effects), np.nan)
    left[sure] = between / (between + errors[sure] ** 2)
    return left
