"""What other attempts at the same task show, found by a look over the whole run before it is judged: counts, steps, and one that passed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from benchloop_analysis.events import read_trajectory
from benchloop_analysis.records import Facts, Siblings
from benchloop_analysis.siblings import Outline, outline
from benchloop_client.actions.analyze_task import Task
from benchloop_client.actions.processes import Item
from benchloop_client.actions.push_jobs import job_id_of
from benchloop_client.contract.resources import JobFacts
from benchloop_client.contract.trajectory import InvalidTrajectory
from benchloop_client.formats.records import RunGroup, RunJob

_TABLE, _OUTLINES = "siblings", "outlines"


class _Seen(msgspec.Struct, array_like=True):
    """One job: its task, whether it passed, how many steps it took (None: no trajectory), and, of the first to pass, the outline."""

    task: str
    passed: bool
    steps: int | None
    outline: bytes | None = None


class _Attempts(msgspec.Struct, array_like=True):
    """All attempts at a task; the outline lies at `offset` of the file of outlines."""

    jobs: int = 0
    passed: int = 0
    steps: list[int] = []
    offset: int = 0
    length: int = 0


def task_key(group: int, facts: JobFacts | Facts) -> str:
    """Attempts with the same key are siblings: same group, task and training step."""
    return f"{group}\0{'' if facts.step is None else facts.step}\0{facts.task_id}"


def look(task_json: bytes) -> Iterator[Item]:
    """For each job of a share, what its siblings may want to know."""
    task = msgspec.json.decode(task_json, type=Task)
    with_outline: set[str] = set()
    for number, group in enumerate(task.open().groups):
        if group.single:
            continue
        for index, job in group.shared(task.share()):
            if isinstance(job, RunJob):
                yield (number, index), msgspec.msgpack.encode(_seen(number, group, job, with_outline))


def _seen(number: int, group: RunGroup, job: RunJob, with_outline: set[str]) -> _Seen:
    facts = job.facts
    key = task_key(number, facts)
    passed = facts.reward is not None and facts.reward >= 1 and facts.reward_valid is not False
    try:
        document = job.trajectory().document if job.trajectory is not None else None
    except (InvalidTrajectory, OSError):
        document = None
    if document is None:
        return _Seen(key, passed, None)
    kept = None
    if passed and key not in with_outline:
        with_outline.add(key)
        kept = msgspec.msgpack.encode(outline(job_id_of(group.group_id, job), read_trajectory(document)))
    return _Seen(key, passed, len(document["steps"]), kept)


def write_table(folder: Path, items: Iterable[Item]) -> None:
    """Keep what `look` found in `folder`, for `SiblingTable`. One outline a task: that of the first attempt that passed."""
    table: dict[str, _Attempts] = {}
    end = 0
    with open(folder / _OUTLINES, "wb") as file:
        for _, data in items:
            seen = msgspec.msgpack.decode(data, type=_Seen)
            attempts = table.setdefault(seen.task, _Attempts())
            attempts.jobs += 1
            attempts.passed += seen.passed
            if seen.steps is not None:
                attempts.steps.append(seen.steps)
            if seen.outline is not None and not attempts.length:
                attempts.offset, attempts.length = end, file.write(seen.outline)
                end += attempts.length
    several = {key: attempts for key, attempts in table.items() if attempts.jobs > 1}
    (folder / _TABLE).write_bytes(msgspec.msgpack.encode(several))


class SiblingTable:
    """Answers for one job; outlines stay on the disk until they are asked for."""

    def __init__(self, folder: Path | None) -> None:
        """Without a folder no job has siblings."""
        self._folder = folder
        raw = (folder / _TABLE).read_bytes() if folder is not None else msgspec.msgpack.encode({})
        self._table = msgspec.msgpack.decode(raw, type=dict[str, _Attempts])

    def siblings(self, group: int, facts: JobFacts, steps: int | None) -> Siblings | None:
        """The other attempts at the job's task; `steps` are the job's own. None without others."""
        attempts = self._table.get(task_key(group, facts))
        if attempts is None:
            return None
        others = list(attempts.steps)
        if steps in others:
            others.remove(steps)
        own = facts.reward is not None and facts.reward >= 1 and facts.reward_valid is not False
        median = statistics.median(others) if others else None
        return Siblings(jobs=attempts.jobs - 1, passed=attempts.passed - own, median_steps=median)

    def passing(self, group: int, facts: JobFacts) -> Outline | None:
        """An attempt at the job's task that passed."""
        attempts = self._table.get(task_key(group, facts))
        if attempts is None or not attempts.length or self._folder is None:
            return None
        with open(self._folder / _OUTLINES, "rb") as file:
            file.seek(attempts.offset)
            return msgspec.msgpack.decode(file.read(attempts.length), type=Outline)
