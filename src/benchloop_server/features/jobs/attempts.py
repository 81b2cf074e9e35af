"""Numbering attempts: from 1 within one task and step, by start time, then the source's own order, then job id. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class Numbered(NamedTuple):
    """What decides a job's place, and the number it has now. A plain tuple: a big batch makes tens of thousands."""

    job_id: str
    task_id: str
    step: int | None
    started_at: int | None
    attempt_order: int | None
    attempt: int


def renumber(jobs: Iterable[Numbered]) -> dict[str, int]:
    """The new number of each job whose number is not right. Jobs without a start time come after those with one."""
    strata: dict[tuple[str, int | None], list[Numbered]] = defaultdict(list)
    for job in jobs:
        strata[job.task_id, job.step].append(job)
    changed = {}
    for stratum in strata.values():
        for number, job in enumerate(sorted(stratum, key=_place), start=1):
            if job.attempt != number:
                changed[job.job_id] = number
    return changed


def _place(job: Numbered) -> tuple[bool, int, bool, int, str]:
    return job.started_at is None, job.started_at or 0, job.attempt_order is None, job.attempt_order or 0, job.job_id
