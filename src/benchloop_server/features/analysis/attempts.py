"""What other attempts at a job's task show: how many there are, how long they are, and one that passed."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable
from typing import Any

from benchloop_analysis.records import Siblings
from benchloop_server.features.analysis.asked import Passing
from benchloop_server.kit.verified import Place

#: With more attempts at a task than this a further one says little about the others: they are not looked at again.
MANY = 64

Key = tuple[str, "int | None"]


class Attempts:
    """The attempts at some tasks, from rows of `repository.lengths` and `repository.first_passed`."""

    def __init__(self, lengths: Iterable[Any], passed: Iterable[Any]) -> None:
        self._steps: dict[Key, list[int]] = {}
        self._counts: dict[Key, tuple[int, int]] = {}
        for row in lengths:
            key = (row.task_id, row.step)
            jobs, good = self._counts.get(key, (0, 0))
            self._counts[key] = jobs + row.jobs, good + int(row.passed)
            if row.n_steps is not None:
                self._steps.setdefault(key, []).extend([row.n_steps] * row.jobs)
        self._passing = {(row.task_id, row.step): row for row in passed}

    def many(self, key: Key) -> bool:
        """Whether there are so many that one more does not matter."""
        return self._counts.get(key, (0, 0))[0] > MANY

    def siblings(self, key: Key, *, steps: int | None, passed: bool) -> Siblings | None:
        """The others, for the one with so many `steps`; None without others."""
        jobs, good = self._counts.get(key, (0, 0))
        if jobs < 2:
            return None
        others = list(self._steps.get(key, ()))
        if steps is not None and steps in others:
            others.remove(steps)
        return Siblings(jobs=jobs - 1, passed=good - passed, median_steps=statistics.median(others) if others else None)

    def passing(self, key: Key, job_id: str) -> Passing | None:
        """One that passed, other than this job."""
        row = self._passing.get(key)
        if row is None or row.job_id == job_id:
            return None
        place = Place(row.trace_blob, row.trace_blob_offset, row.trace_stored_size, row.trace_stored_sha256)
        return Passing(row.job_id, place.sha256, place)

    def context(self, key: Key, job_id: str, *, steps: int | None) -> str:
        """Another text whenever a failed job may be judged otherwise because of the others."""
        others, passing = self.siblings(key, steps=steps, passed=False), self.passing(key, job_id)
        said = (
            None if others is None else (others.jobs >= 3, others.median_steps),
            None if passing is None else tuple(passing.trajectory[3:]),
        )
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16]
