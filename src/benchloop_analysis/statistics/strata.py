"""Sums within strata and the ranks of a value among its own stratum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Strata:
    """`index` numbers the stratum of each row from 0 to `count` - 1; `sizes` are their rows."""

    index: Ints
    count: int
    sizes: Floats

    @classmethod
    def of(cls, labels: Ints) -> Strata:
        """Strata from any labels, numbered in the order of the labels."""
        _, index = np.unique(labels, return_inverse=True)
        index = index.astype(np.int64).reshape(-1)
        count = int(index.max()) + 1 if len(index) else 0
        return cls(index, count, np.bincount(index, minlength=count).astype(np.float64))

    def sums(self, values: Floats) -> Floats:
        """The sum of the values in each stratum."""
        return np.bincount(self.index, weights=values, minlength=self.count).astype(np.float64)

    def means(self, values: Floats) -> Floats:
        """The mean of the values in each stratum."""
        return np.asarray(self.sums(values) / np.maximum(self.sizes, 1))

    def centred(self, values: Floats) -> Floats:
        """Each value less the mean of its stratum."""
        return np.asarray(values - self.means(values)[self.index])

    def one_of(self) -> Ints:
        """A row of each stratum, for values that are equal within each."""
        found = np.zeros(self.count, dtype=np.int64)
        found[self.index] = np.arange(len(self.index))
        return found


@dataclass(frozen=True)
class Scores:
    """What a value says about each row: (rows of its stratum below it − rows above it) ÷ rows of the stratum.

    `pairs` of a stratum: pairs of rows with unequal values ÷ rows. For a value of 0 and 1 the score is the value less its mean.
    """

    rows: Floats
    pairs: Floats


def scores(values: Floats, strata: Strata) -> Scores:
    """The scores of the rows, by mid-ranks within the stratum."""
    if is_binary(values):
        shown = strata.sums(values)
        sizes = np.maximum(strata.sizes, 1)
        return Scores(values - (shown / sizes)[strata.index], shown * (strata.sizes - shown) / sizes)
    order = np.lexsort((values, strata.index))
    ranked, groups = values[order], strata.index[order]
    starts = np.concatenate(([0], np.cumsum(strata.sizes)[:-1]))
    opens = np.flatnonzero(np.concatenate(([True], (ranked[1:] != ranked[:-1]) | (groups[1:] != groups[:-1]))))
    lengths = np.diff(np.concatenate((opens, [len(ranked)])))
    group = groups[opens]
    below = opens - starts[group]
    above = strata.sizes[group] - below - lengths
    rows = np.empty(len(values))
    rows[order] = np.repeat((below - above) / strata.sizes[group], lengths)
    ties = np.bincount(group, weights=lengths.astype(np.float64) ** 2, minlength=strata.count)
    return Scores(rows, (strata.sizes**2 - ties) / (2 * strata.sizes))


def is_binary(values: Floats) -> bool:
    """Whether every value is 0 or 1."""
    return bool(np.all((values == 0) | (values == 1)))
