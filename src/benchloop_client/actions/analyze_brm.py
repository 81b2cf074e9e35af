"""Which behaviour goes with reward in a local run: what each job did is kept on the disk while the run is read, then studied by group."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import msgspec

from benchloop_analysis.behaviours import observe as observe_case
from benchloop_analysis.behaviours.records import Features
from benchloop_analysis.brm.conduct import NO_STEP, NO_TRAJECTORY, NOT_ENDED, UNSEEN, Job, answer, conduct, freeze, illustrated
from benchloop_analysis.brm.records import Study
from benchloop_analysis.case import Case
from benchloop_analysis.records import Facts, JobAnalysis
from benchloop_client.actions.analyze_task import Seen
from benchloop_client.contract.analysis import SCORING_LIMIT
from benchloop_client.errors import LocalError, one_line

_RUNNING = ("pending", "running")


def observe(case: Case) -> Seen:
    """What a job did, as it travels from the process that read it."""
    if case.job.document is None:
        return Seen(reason=NO_TRAJECTORY)
    try:
        return Seen(features=msgspec.msgpack.encode(observe_case(case)))
    except Exception as error:  # noqa: BLE001 - one job that cannot be observed is counted, and stops no other
        return Seen(reason=UNSEEN, error=one_line(f"{type(error).__name__}: {error}"))


@dataclass(frozen=True, slots=True)
class Studied:
    """The result for a group: `study` as the analysis gives it, `answer` as a server would, in plain values; `jobs` were looked at."""

    group_id: str
    jobs: tuple[Job, ...]
    study: Study
    answer: dict[str, Any]


@dataclass
class Observations:
    """What the jobs of one group did: rows in memory, the rest in a temporary file. Close it to give the disk back."""

    group_id: str
    _jobs: list[Job] = field(default_factory=list)
    _places: dict[str, tuple[int, int]] = field(default_factory=dict)
    _left_out: dict[str, int] = field(default_factory=dict)
    _end: int = 0
    _spool: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def add(self, facts: Facts, analysis: JobAnalysis, seen: Seen) -> None:
        """Take in one job. What the source says of its reward stands; where it says nothing, the verdict does."""
        reason = NOT_ENDED if facts.status in _RUNNING else seen.reason
        if reason is not None:
            self._left_out[reason] = self._left_out.get(reason, 0) + 1
            return
        valid = facts.reward_valid if facts.reward_valid is not None else analysis.verdict.reward_valid
        self._jobs.append(Job(analysis.job_id, facts.task_id, facts.agent, facts.model, facts.step, facts.reward, valid))
        self._places[analysis.job_id] = self._end, len(seen.features)
        self._end += self._spool.write(seen.features)

    def study(self, sample_size: int | None) -> Studied:
        """Draw the sample as a server does, `sample_size` jobs of each training step (None: all), and study it.

        Raises `LocalError` where there is no job to look at.
        """
        steps = sorted({job.step for job in self._jobs if job.step is not None})
        there = [job for job in self._jobs if not steps or job.step is not None]
        left_out = dict(self._left_out)
        if len(there) < len(self._jobs):
            left_out[NO_STEP] = len(self._jobs) - len(there)
        if not there:
            raise LocalError(f"group {self.group_id}: no job has ended and has a trajectory, so there is no behaviour to compare")
        size = sample_size if steps else None
        frozen = freeze(there, group_id=self.group_id, steps=steps, size=size, left_out=left_out)
        found = conduct(frozen, self._seen(frozen.jobs), scoring_limit=SCORING_LIMIT)
        jobs = {job.job_id: job for job in frozen.jobs}

        def read(job_ids: list[str]) -> Mapping[str, Features]:
            return {job.job_id: features for job, features in self._seen(jobs[job_id] for job_id in job_ids)}

        whole = illustrated(found, read)
        mode = "step" if steps else "all_jobs"
        return Studied(self.group_id, frozen.jobs, whole, {**answer(whole), "samplingMode": mode})

    def close(self) -> None:
        """Give the disk back."""
        self._spool.close()

    def _seen(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Features]]:
        for job in jobs:
            offset, length = self._places[job.job_id]
            self._spool.seek(offset)
            yield job, msgspec.msgpack.decode(self._spool.read(length), type=Features)
