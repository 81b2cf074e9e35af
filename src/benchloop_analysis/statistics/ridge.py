"""Ridge regression on columns less their stratum's mean, its penalty chosen by generalised cross-validation, for many outcomes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchloop_analysis.statistics.strata import Floats

#: Penalties that are tried, as parts of the number of rows.
PENALTIES = tuple(float(one) for one in np.logspace(-3, 2, 11))


@dataclass(frozen=True)
class Fit:
    """`coefficients` is columns × outcomes, `penalty` the chosen one of each outcome, as a part of the number of rows."""

    coefficients: Floats
    penalty: Floats


@dataclass(frozen=True)
class Columns:
    """Columns made ready for any number of fits. `freedom` is rows less those that went into the stratum means."""

    rows: Floats
    values: Floats
    vectors: Floats
    freedom: int

    @classmethod
    def of(cls, rows: Floats, *, lost: int) -> Columns:
        """Take the columns apart, once."""
        values, vectors = np.linalg.eigh(rows.T @ rows)
        return cls(rows, np.maximum(values, 0.0), vectors, max(1, len(rows) - lost))


def fit(columns: Columns, outcomes: Floats) -> Fit:
    """Fit each column of `outcomes`. The error of each penalty is read off the eigenvalues, so no row is touched twice."""
    values, vectors, freedom = columns.values, columns.vectors, columns.freedom
    turned = vectors.T @ (columns.rows.T @ outcomes)
    squares = (outcomes**2).sum(axis=0)
    best = np.full(outcomes.shape[1], np.inf)
    penalty = np.full(outcomes.shape[1], PENALTIES[-1])
    for part in PENALTIES:
        shrunk = 1 / (values + part * freedom)
        error = squares - ((2 * shrunk - values * shrunk**2)[:, None] * turned**2).sum(axis=0)
        score = error / max(1e-9, freedom - float((values * shrunk).sum())) ** 2
        better = score < best - 1e-15
        best, penalty = np.where(better, score, best), np.where(better, part, penalty)
    coefficients = vectors @ (turned / (values[:, None] + penalty[None, :] * freedom))
    return Fit(coefficients, penalty)
