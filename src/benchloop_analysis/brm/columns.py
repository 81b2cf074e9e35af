"""What is compared: one column for each behaviour, and the jobs that can be compared with what is said about their outcome."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchloop_analysis.behaviours.records import Behaviour
from benchloop_analysis.brm.records import MINED, SampleRecord
from benchloop_analysis.brm.table import Table
from benchloop_analysis.statistics.compare import Options as Comparing
from benchloop_analysis.statistics.compare import Rows
from benchloop_analysis.statistics.strata import Bools, Floats, Ints, Strata, is_binary

#: Arrangements that are drawn for one test, and resamples for one interval.
PERMUTATIONS, RESAMPLES = 5_000, 1_000


@dataclass(frozen=True)
class Options:
    """How to study: how many patterns to list, the seed of everything that is drawn, the level of intervals, and how jobs were drawn."""

    scoring_limit: int = 32
    seed: int = 0
    level: float = 0.95
    permutations: int = PERMUTATIONS
    resamples: int = RESAMPLES
    samples: tuple[SampleRecord, ...] = ()

    def seed_for(self, name: str) -> int:
        """A seed of its own for each thing that is drawn, below 2**63."""
        return int.from_bytes(blake2b(f"{self.seed}\0{name}".encode(), digest_size=8).digest(), "big") >> 1

    def comparing(self, name: str) -> Comparing:
        """How to compare what is called `name`."""
        return Comparing(level=self.level, draws=self.permutations, seed=self.seed_for(name))


@dataclass(frozen=True)
class Column:
    """A behaviour and its value for each job of the table, NaN where it does not apply. `actions` of a mined one is what is looked for."""

    behaviour: Behaviour
    values: NDArray[np.float32]
    kind: Literal["catalogue", "mined", "amount"] = "catalogue"
    actions: str | None = None
    landmark: NDArray[np.float32] | None = None

    @property
    def category(self) -> str:
        """The behaviour's, or that of all mined patterns."""
        return MINED if self.kind == MINED else self.behaviour.category


@dataclass(frozen=True)
class Outcome:
    """The rewards of a table: `binary` where all valid ones are 0 or 1; `strata` are those of all its jobs."""

    table: Table
    strata: Strata
    valid: Bools
    reward: Floats
    binary: bool
    #: Largest reward less smallest: what effects are measured in.
    most: float

    @classmethod
    def of(cls, table: Table) -> Outcome:
        """Read off a table."""
        valid = table.valid
        known = table.reward[valid]
        reward = np.where(valid, table.reward, 0.0)
        return cls(table, Strata.of(table.stratum), valid, reward, is_binary(known), float(np.ptp(known)) if len(known) else 0.0)

    def rows(self, values: NDArray[np.float32], places: Ints | None = None) -> Rows:
        """The jobs to compare: with a valid reward, and the behaviour applies. `values` are of the jobs at `places`, or of all."""
        return self._rows(values, places, self.valid, self.reward)

    def rows_with_invalid(self, values: NDArray[np.float32]) -> Rows:
        """The same where an invalid reward counts as 0."""
        table = self.table
        return self._rows(values, None, self.valid | table.invalid, np.where(table.invalid, 0.0, self.reward))

    def _rows(self, values: NDArray[np.float32], places: Ints | None, which: Bools, reward: Floats) -> Rows:
        everywhere = np.arange(len(self.table)) if places is None else places
        kept = which[everywhere] & ~np.isnan(values)
        at = everywhere[kept]
        table = self.table
        return Rows(values[kept].astype(np.float64), reward[at], table.stratum[at], table.task[at], table.weight[at])

    def better(self) -> Floats:
        """1 for a job that passed, 0 for one that failed, else NaN; where rewards are not 0 and 1: above or below their stratum."""
        if self.binary:
            return np.where(self.valid, self.reward, np.nan)
        among = Strata.of(self.table.stratum[self.valid])
        found = np.full(len(self.table), np.nan)
        gap = among.centred(self.reward[self.valid])
        found[self.valid] = np.where(gap > 0, 1.0, np.where(gap < 0, 0.0, np.nan))
        return found


def catalogue_columns(table: Table, landmark: int | None) -> list[Column]:
    """The columns of the catalogue."""
    early = table.landmarks[landmark].values if landmark is not None else None
    return [
        Column(behaviour, table.values[:, place], landmark=None if early is None else early[:, place])
        for place, behaviour in enumerate(table.catalogue)
    ]


def landmark_of(table: Table) -> int | None:
    """The largest landmark that is at most the first quartile of the valid jobs' lengths; None where there is none."""
    lengths = table.n_steps[table.valid]
    if not len(lengths):
        return None
    quartile = float(np.percentile(lengths, 25))
    return max((steps for steps in table.landmarks if steps <= quartile), default=None)
