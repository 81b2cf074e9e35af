"""The table that a study is made from: a row for each job, in arrays, without the trajectories."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchloop_analysis.behaviours import CATALOGUE, CATALOGUE_VERSION
from benchloop_analysis.behaviours.records import Behaviour, Features

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
_LENGTH = "relative_length"


@dataclass(frozen=True)
class Observed:
    """One job as the study takes it. `weight` is how many jobs of the group it stands for, as `sampling.choose` says."""

    job_id: str
    task_id: str
    agent: str | None
    model: str | None
    step: int | None
    reward: float | None
    reward_valid: bool | None
    features: Features
    weight: float = 1.0


@dataclass(frozen=True)
class Landmarked:
    """The behaviours within the first steps of the jobs that ran longer: `rows` are their places in the table."""

    rows: Ints
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Table:
    """`values` is jobs × behaviours, NaN where one does not apply. `step` is -1 where none is recorded; `reward` NaN where unknown.

    `stratum` numbers task × agent × model × step: within one, attempts are compared. `invalid` marks rewards that mean nothing.
    """

    catalogue: tuple[Behaviour, ...]
    catalogue_version: str
    job_ids: tuple[str, ...]
    task_ids: tuple[str, ...]
    parts: tuple[str, ...]
    task: Ints
    part: Ints
    step: Ints
    stratum: Ints
    reward: Floats
    invalid: NDArray[np.bool_]
    weight: Floats
    n_steps: Ints
    values: NDArray[np.float32]
    landmarks: Mapping[int, Landmarked]
    actions: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.job_ids)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Jobs whose reward is known and not invalid: those that are compared."""
        return ~np.isnan(self.reward) & ~self.invalid


@dataclass
class TableBuilder:
    """Takes one job after another, in any order; `build` gives the same table for the same jobs in the same order."""

    catalogue: tuple[Behaviour, ...] = CATALOGUE
    version: str = CATALOGUE_VERSION
    _jobs: list[str] = field(default_factory=list)
    _tasks: dict[str, int] = field(default_factory=dict)
    _parts: dict[str, int] = field(default_factory=dict)
    _strata: dict[tuple[int, int, int], int] = field(default_factory=dict)
    _whole: dict[str, array[int]] = field(
        default_factory=lambda: {name: array("q") for name in ("task", "part", "step", "stratum", "n_steps")}
    )
    _real: dict[str, array[float]] = field(default_factory=lambda: {name: array("d") for name in ("reward", "weight")})
    _invalid: bytearray = field(default_factory=bytearray)
    _values: array[float] = field(default_factory=lambda: array("f"))
    _landmarks: dict[int, tuple[array[int], array[float]]] = field(default_factory=dict)
    _actions: list[str] = field(default_factory=list)

    def add(self, job: Observed) -> None:
        """Take one job. Raises `ValueError` where its features are of another catalogue."""
        features = job.features
        if len(features.values) != len(self.catalogue):
            raise ValueError(f"{job.job_id} has {len(features.values)} behaviours, the catalogue {len(self.catalogue)}")
        place = len(self._jobs)
        task = self._tasks.setdefault(job.task_id, len(self._tasks))
        part = self._parts.setdefault(" · ".join(name for name in (job.agent, job.model) if name) or "(not recorded)", len(self._parts))
        step = -1 if job.step is None else job.step
        numbers = (task, part, step, self._strata.setdefault((task, part, step), len(self._strata)), features.n_steps)
        for column, number in zip(self._whole.values(), numbers, strict=True):
            column.append(number)
        self._real["reward"].append(np.nan if job.reward is None or not math.isfinite(job.reward) else job.reward)
        self._real["weight"].append(job.weight)
        self._invalid.append(job.reward_valid is False)
        self._values.extend(_numbers(features.values))
        for steps, values in features.landmarks.items():
            rows, kept = self._landmarks.setdefault(int(steps), (array("q"), array("f")))
            rows.append(place)
            kept.extend(_numbers(values))
        self._jobs.append(job.job_id)
        self._actions.append(features.actions)

    def build(self) -> Table:
        """The table. What compares a job with its siblings is computed here."""
        whole = {name: np.array(column, dtype=np.int64) for name, column in self._whole.items()}
        values = np.array(self._values, dtype=np.float32).reshape(len(self._jobs), len(self.catalogue))
        for place, behaviour in enumerate(self.catalogue):
            if behaviour.name == _LENGTH:
                values[:, place] = relative_length(whole["n_steps"], whole["stratum"])
        return Table(
            catalogue=self.catalogue,
            catalogue_version=self.version,
            job_ids=tuple(self._jobs),
            task_ids=tuple(self._tasks),
            parts=tuple(self._parts),
            task=whole["task"],
            part=whole["part"],
            step=whole["step"],
            stratum=whole["stratum"],
            reward=np.array(self._real["reward"], dtype=np.float64),
            invalid=np.frombuffer(bytes(self._invalid), dtype=np.uint8).astype(np.bool_),
            weight=np.array(self._real["weight"], dtype=np.float64),
            n_steps=whole["n_steps"],
            values=values,
            landmarks={steps: _landmarked(kept, len(self.catalogue)) for steps, kept in sorted(self._landmarks.items())},
            actions=tuple(self._actions),
        )


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]


def _landmarked(kept: tuple[array[int], array[float]], width: int) -> Landmarked:
    rows, values = kept
    return Landmarked(np.array(rows, dtype=np.int64), np.array(values, dtype=np.float32).reshape(len(rows), width))


def relative_length(n_steps: Ints, stratum: Ints) -> NDArray[np.float32]:
    """Steps of each job ÷ the median of the attempts in its stratum; NaN where there is a single attempt or that median is 0."""
    order = np.lexsort((n_steps, stratum))
    sorted_steps, groups = n_steps[order].astype(np.float64), stratum[order]
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]]) if len(groups) else np.zeros(0, dtype=np.int64)
    sizes = np.diff(np.r_[starts, len(groups)])
    if not len(starts):
        return np.zeros(0, dtype=np.float32)
    median = (sorted_steps[starts + (sizes - 1) // 2] + sorted_steps[starts + sizes // 2]) / 2
    spread = np.where((sizes > 1) & (median > 0), median, np.nan)
    found = np.empty(len(groups), dtype=np.float32)
    found[order] = sorted_steps / np.repeat(spread, sizes)
    return found
