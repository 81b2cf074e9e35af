"""Which jobs of a group are wanted: by state, outcome, task, step or reason of failure, and of those a sample that stays the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """All given conditions have to hold, one of the values of each. Without any it is false and means every job.

    `sample`: at most so many of them, drawn by `seed` (None: the id of the group or download task) and the ids of the jobs alone, so that
    the same jobs come each time, and mostly the same ones when more jobs have arrived since.
    """

    status: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    fail_reasons: tuple[str, ...] = ()
    sample: int | None = None
    seed: str | None = None

    def __bool__(self) -> bool:
        return bool(self.status or self.outcome or self.tasks or self.steps or self.fail_reasons or self.sample)

    @property
    def conditions(self) -> Selection:
        """The same without the sample."""
        return replace(self, sample=None)

    def words(self, name: str) -> str:
        """The conditions in a fixed order, each once; `name` is the id whose jobs are meant. Nothing where all are meant."""
        lists = (("status", self.status), ("outcome", self.outcome), ("task", self.tasks), ("step", self.steps))
        parts = [f"{key}={','.join(map(str, sorted(values)))}" for key, values in (*lists, ("fail_reason", self.fail_reasons)) if values]
        if self.sample:
            parts += [f"sample={self.sample}", f"seed={self.seed or name}"]
        return " ".join(parts)

    def source(self, source: str, name: str) -> str:
        """The name in the journal of what is fetched: a selection is another file than the whole."""
        words = self.words(name)
        return f"{source} {words}" if words else source

    def drawn(self, jobs: Sequence[str], name: str) -> list[str]:
        """The sample of these jobs, in their order."""
        if not self.sample or self.sample >= len(jobs):
            return list(jobs)
        seed = self.seed or name
        taken = set(sorted(jobs, key=lambda job_id: _rank(seed, job_id))[: self.sample])
        return [job_id for job_id in jobs if job_id in taken]


EVERY = Selection()


def _rank(seed: str, job_id: str) -> bytes:
    return hashlib.blake2b(f"{seed}\0{job_id}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
