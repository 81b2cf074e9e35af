"""The work of a behaviour task: its sample is drawn once, what the jobs did is looked up or observed, studied, and shown with examples.

Whatever is finished is kept in the transaction that marks it so: a worker that takes over begins with the first step that is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec

from benchloop_analysis.behaviours import CATALOGUE_VERSION
from benchloop_analysis.behaviours.records import Features
from benchloop_analysis.brm.conduct import (
    CHANGED,
    NO_TRAJECTORY,
    NOT_ENDED,
    UNSEEN,
    WORDS,
    Frozen,
    Job,
    answer,
    conduct,
    freeze,
    illustrated,
)
from benchloop_analysis.brm.records import Study
from benchloop_client.contract.compression import decode, frame
from benchloop_server.features.analysis import asking
from benchloop_server.features.analysis.observing import observe_jobs
from benchloop_server.features.analysis.work import ensure_judged
from benchloop_server.features.behaviour import repository
from benchloop_server.features.behaviour.repository import TaskRow
from benchloop_server.features.behaviour.service import RESULT
from benchloop_server.kit.clock import system_clock
from benchloop_server.kit.db import Connection, Row
from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Handler, Item, Run, WorkFailed
from benchloop_server.sql import observations

_SAMPLE, _STUDY, _OPINIONS = "sample", "study", "opinions"
_RUNNING = ("pending", "running")
#: Jobs whose rows are read at a time.
_PAGE = 500

T = TypeVar("T")


def work_off(services: Services, run: Run) -> None:
    """Do what the task that is the key of the work asks for; nothing for one that is gone or has ended."""
    with services.db.read() as connection:
        task = repository.pending(connection, run.item.workspace_id, run.item.key)
    if task is None:
        return
    ensure_judged(services, run, task.group_id)
    desk = _Desk(services, run, task)
    if not run.step("sample", desk.drawn, desk.keep_sample):
        return
    sample = desk.part(_SAMPLE, Frozen)
    desk.observe(sample)
    if run.step("study", lambda: desk.studied(sample), desk.keep_study):
        if asking.is_on(services):
            run.step("opinions", lambda: asking.opinions(services, run, sample), desk.keep_opinions)
        run.step("examples", lambda: desk.illustrated(desk.part(_STUDY, Study)), desk.keep_result)


def gave_up(connection: Connection, item: Item, sentence: str) -> None:
    """The task says why, and may be asked for again."""
    repository.end(connection, item.workspace_id, item.key, state="failed", now=system_clock(), error=sentence)


class _Desk:
    """What is done with one task."""

    def __init__(self, services: Services, run: Run, task: TaskRow) -> None:
        self._services, self._run, self._task = services, run, task
        self._workspace, self._uid = run.item.workspace_id, run.item.key

    def part(self, name: str, kind: type[T]) -> T:
        """What was kept of the task."""
        with self._services.db.read() as connection:
            data = repository.part(connection, self._workspace, self._uid, name)
        if data is None:
            raise WorkFailed(f"the {name} of this task is gone")
        return msgspec.json.decode(b"".join(decode([data])), type=kind)

    # ---- the sample

    def drawn(self) -> Frozen:
        """The sample. Raises `WorkFailed` where there is nobody to look at."""
        steps: list[int] = msgspec.json.decode(self._task.steps_json)
        left_out = dict.fromkeys((NOT_ENDED, NO_TRAJECTORY), 0)
        with self._services.db.read() as connection:
            rows = repository.facts(connection, self._workspace, self._task.group_id, steps=steps)
            there = _usable(rows, left_out)
            size = self._task.sample_size
            sample = freeze(there, group_id=self._task.group_id, steps=steps, size=size, left_out=left_out)
        if not sample.jobs:
            why = ", ".join(f"{count:,} {WORDS[reason]}" for reason, count in left_out.items() if count)
            raise WorkFailed(f"there is no job to look at{': ' + why if why else ''}")
        return sample

    def keep_sample(self, connection: Connection, sample: Frozen) -> bool:
        """From now on it stays what it is."""
        return self._keep(connection, _SAMPLE, sample)

    # ---- what the jobs did

    def observe(self, sample: Frozen) -> None:
        """Observe those jobs of the sample that were not observed by this catalogue, or before they changed."""
        missing = [job_id for jobs in _pages(sample.jobs) for job_id in self._missing(jobs)]
        done, total = len(sample.jobs) - len(missing), len(sample.jobs)
        self._run.progress(done, total)
        for seen in observe_jobs(self._services, self._run, missing):
            done += seen
            self._run.progress(min(done, total), total)

    def _missing(self, jobs: list[Job]) -> list[str]:
        ids = [job.job_id for job in jobs]
        with self._services.db.read() as connection:
            known = observations.known(connection, self._workspace, ids, version=CATALOGUE_VERSION)
            unknown = [job for job in jobs if known.get(job.job_id) != job.fingerprint]
            there = repository.fingerprints(connection, self._workspace, [job.job_id for job in unknown]) if unknown else {}
        return [job.job_id for job in unknown if there.get(job.job_id) == job.fingerprint]

    def _seen(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Features | str]]:
        for page in _pages(jobs):
            self._run.check()
            with self._services.db.read() as connection:
                rows = observations.of_jobs(connection, self._workspace, [job.job_id for job in page], version=CATALOGUE_VERSION)
            yield from ((job, _features(job, rows.get(job.job_id))) for job in page)

    # ---- the study

    def studied(self, sample: Frozen) -> Study:
        """The result without the steps of its examples."""
        seen = self._seen(sample.jobs)
        return conduct(sample, seen, scoring_limit=self._task.scoring_limit, progress=lambda _done, _total: self._run.check())

    def keep_study(self, connection: Connection, found: Study) -> bool:
        """Until the examples are there."""
        return self._keep(connection, _STUDY, found)

    def keep_opinions(self, connection: Connection, told: asking.Told) -> bool:
        """What a model said, until the examples are there."""
        return self._keep(connection, _OPINIONS, told)

    def illustrated(self, found: Study) -> Study:
        """The result."""
        jobs = {job.job_id: job for job in self.part(_SAMPLE, Frozen).jobs}

        def read(job_ids: list[str]) -> Mapping[str, Features]:
            seen = self._seen(jobs[job_id] for job_id in job_ids)
            return {job.job_id: features for job, features in seen if not isinstance(features, str)}

        return illustrated(found, read)

    def keep_result(self, connection: Connection, found: Study) -> bool:
        """The task is done."""
        data = repository.part(connection, self._workspace, self._uid, _OPINIONS)
        told = None if data is None else msgspec.json.decode(b"".join(decode([data])), type=asking.Told)
        result = answer(found) if told is None else asking.beside(answer(found), told, limit=self._task.scoring_limit)
        if not self._keep(connection, RESULT, result):
            return False
        for name in (_STUDY, _OPINIONS):
            repository.drop_part(connection, self._workspace, self._uid, name=name)
        jobs = found.summary.n
        values: dict[str, Any] = {"done": jobs, "total": jobs}
        return repository.end(connection, self._workspace, self._uid, state="done", now=self._services.clock(), **values)

    def _keep(self, connection: Connection, name: str, value: object) -> bool:
        data = frame(msgspec.json.encode(value))
        return repository.keep_part(connection, self._workspace, self._uid, name=name, data=data)


def _usable(rows: Iterable[Row[Any]], left_out: dict[str, int]) -> Iterator[Job]:
    """Jobs that are over and have a trajectory; the others are counted."""
    for row in rows:
        if row.status in _RUNNING:
            left_out[NOT_ENDED] += 1
        elif row.trajectory_sha256 is None:
            left_out[NO_TRAJECTORY] += 1
        else:
            yield Job(
                job_id=row.job_id,
                task_id=row.task_id,
                agent=row.agent,
                model=row.model,
                step=row.step,
                reward=row.reward,
                reward_valid=row.reward_valid,
                fingerprint=row.fingerprint,
            )


def _features(job: Job, row: Row[Any] | None) -> Features | str:
    if row is None or row.fingerprint != job.fingerprint:
        return CHANGED
    return UNSEEN if row.features is None else msgspec.json.decode(b"".join(decode([row.features])), type=Features)


def _pages(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    iterator = iter(jobs)
    while page := list(islice(iterator, _PAGE)):
        yield page


HANDLER = Handler(work_off, gave_up=gave_up)
