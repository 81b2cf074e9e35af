"""Jobs handed to processes that compute, in handfuls that are not too large; one that a process dies of stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import structlog

from benchloop_analysis.behaviours import CATALOGUE_VERSION
from benchloop_server.features.analysis.asked import Asked, Judged
from benchloop_server.kit.hands import Program
from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Run
from benchloop_server.sql.observations import Observation

#: Jobs that are handed to a process at a time, and bytes of stored trajectories: about a second's work.
_TASK, _TASK_BYTES = 64, 1 << 20
_DIED = "the process that analysed it died, perhaps for lack of memory"
_log = structlog.get_logger("benchloop_server.work")


@dataclass(frozen=True, slots=True)
class Errand:
    """What is done with jobs: the function of `program`, which is given what `pack` makes of some, and answers a list of `Judged`."""

    program: Program
    pack: Callable[[tuple[Asked, ...]], bytes]


def answered(services: Services, run: Run, errand: Errand, jobs: Iterable[Asked]) -> Iterator[tuple[Asked, Judged]]:
    """Each job with what came of it, in order."""
    waiting: list[tuple[Asked, ...]] = []

    def tasks() -> Iterator[bytes]:
        for portion in portions(jobs):
            waiting.append(portion)
            yield errand.pack(portion)

    for answer in services.hands.each(errand.program, tasks(), blobs=services.blobs, waiting=run.check):
        portion = waiting.pop(0)
        found = _answers(answer) if answer is not None else _one_by_one(services, run, errand, portion)
        yield from zip(portion, found, strict=True)


def _one_by_one(services: Services, run: Run, errand: Errand, jobs: Sequence[Asked]) -> Iterator[Judged]:
    """A process died over these jobs: each by itself, so that the one that kills it stops no other."""
    tasks = (errand.pack((asked,)) for asked in jobs)
    answers = services.hands.each(errand.program, tasks, blobs=services.blobs, waiting=run.check)
    for asked, answer in zip(jobs, answers, strict=True):
        if answer is None:
            _log.error("analysis_died", job=asked.job_id)
            yield Judged(job_id=asked.job_id, error=_DIED)
        else:
            yield from _answers(answer)


def _answers(answer: bytes) -> list[Judged]:
    return msgspec.msgpack.decode(answer, type=list[Judged])


def portions(jobs: Iterable[Asked]) -> Iterator[tuple[Asked, ...]]:
    """Jobs in handfuls that are not too large."""
    portion: list[Asked] = []
    size = 0
    for asked in jobs:
        length = asked.trajectory.length if asked.trajectory is not None else 0
        if portion and (len(portion) == _TASK or size + length > _TASK_BYTES):
            yield tuple(portion)
            portion, size = [], 0
        portion.append(asked)
        size += length
    if portion:
        yield tuple(portion)


def observation_of(asked: Asked, judged: Judged) -> Observation | None:
    """What the job did, to be kept; None for a job without a trajectory."""
    why = judged.unseen or judged.error
    if not judged.features and (why is None or asked.trajectory is None):
        return None
    return Observation(
        job_id=asked.job_id,
        fingerprint=asked.fingerprint,
        version=CATALOGUE_VERSION,
        features=judged.features or None,
        error=None if judged.features else why,
    )
