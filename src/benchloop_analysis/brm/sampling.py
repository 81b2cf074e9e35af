"""Draws whole tasks with all their attempts: 512 attempts at 512 different tasks would hold nothing that can be compared within a task.

Tasks with unequal rewards come first because only they carry information; an eighth of each sample is kept for the other tasks, so that
every task has a chance and weighted prevalences are those of the whole group. The order of tasks depends on the seed and the task alone, so
that the samples of several training steps share as many tasks as they can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from benchloop_analysis.brm.records import SampleRecord

#: Part of a sample that is kept for each class of tasks after the first.
RESERVED = 1 / 8
_CLASSES = ("mixed_in_all_steps", "mixed", "equal")


class Row(NamedTuple):
    """What has to be known of a job to draw it. Give the rows of all training steps at once."""

    job_id: str
    task_id: str
    reward: float | None
    reward_valid: bool | None
    step: int | None = None


@dataclass(frozen=True)
class Sample:
    """The drawn jobs in the order of the rows, the weight of each (how many jobs of the group it stands for), and how they were drawn."""

    job_ids: tuple[str, ...]
    weights: tuple[float, ...]
    records: tuple[SampleRecord, ...]


@dataclass
class _Cell:
    """The attempts at one task in one step."""

    rows: list[int]
    mixed: bool


def seed_of(group_id: str, steps: Iterable[int] = ()) -> int:
    """The seed of a group and the training steps that were asked for, below 2**63."""
    text = "\0".join([group_id, *map(str, sorted(set(steps)))])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def choose(rows: Sequence[Row | tuple[str, str, float | None, bool | None]], *, size: int | None, seed: int) -> Sample:
    """Whole tasks until each step has at least `size` jobs, or all of them; `size` None takes all jobs.

    The last task drawn may bring more jobs than were asked for: it is not cut. Raises `ValueError` for a size below 1.
    """
    if size is not None and size < 1:
        raise ValueError(f"a sample of {size} jobs")
    given = [Row(*row) for row in rows]
    steps = _cells(given)
    order = _order(steps, seed)
    weights: dict[int, float] = {}
    records = [_draw(step, cells, order, (size, seed), weights) for step, cells in sorted(steps.items(), key=lambda item: _key(item[0]))]
    drawn = sorted(weights)
    return Sample(tuple(given[place].job_id for place in drawn), tuple(weights[place] for place in drawn), tuple(records))


def _key(step: int | None) -> tuple[int, int]:
    return (0, 0) if step is None else (1, step)


def _cells(rows: Sequence[Row]) -> dict[int | None, dict[str, _Cell]]:
    steps: dict[int | None, dict[str, _Cell]] = {}
    rewards: dict[tuple[int | None, str], float] = {}
    for place, row in enumerate(rows):
        cell = steps.setdefault(row.step, {}).setdefault(row.task_id, _Cell([], mixed=False))
        cell.rows.append(place)
        if row.reward is not None and row.reward_valid is not False:
            cell.mixed = cell.mixed or rewards.setdefault((row.step, row.task_id), row.reward) != row.reward
    return steps


def _order(steps: Mapping[int | None, Mapping[str, _Cell]], seed: int) -> list[list[str]]:
    """The tasks of each class in the order in which they are drawn: a class is about a task, so it is the same in every step."""
    seen: dict[str, tuple[int, bool]] = {}
    for cells in steps.values():
        for task, cell in cells.items():
            count, mixed = seen.get(task, (0, False))
            seen[task] = count + 1, mixed or cell.mixed
    classes: list[list[str]] = [[], [], []]
    for task in sorted(seen, key=lambda task: _lot(seed, task)):
        count, mixed = seen[task]
        classes[2 if not mixed else 0 if count == len(steps) else 1].append(task)
    return classes


def _lot(seed: int, task: str) -> bytes:
    return blake2b(f"{seed}\0{task}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _draw(
    step: int | None, cells: Mapping[str, _Cell], order: Sequence[Sequence[str]], wish: tuple[int | None, int], weights: dict[int, float]
) -> SampleRecord:
    size, seed = wish
    there = [[task for task in tasks if task in cells] for tasks in order]
    quotas = _quotas([sum(len(cells[task].rows) for task in tasks) for tasks in there], size)
    drawn: list[str] = []
    used: dict[str, float] = {}
    for name, tasks, quota in zip(_CLASSES, there, quotas, strict=True):
        taken = _until(tasks, cells, quota)
        if taken:
            used[name] = len(tasks) / len(taken)
        for task in taken:
            weights.update(dict.fromkeys(cells[task].rows, used[name]))
        drawn += taken
    return SampleRecord(
        step=step,
        requested=size,
        seed=seed,
        jobs=sum(len(cells[task].rows) for task in drawn),
        of_jobs=sum(len(cell.rows) for cell in cells.values()),
        tasks=len(drawn),
        of_tasks=len(cells),
        mixed_tasks=sum(cells[task].mixed for task in drawn),
        of_mixed_tasks=sum(cell.mixed for cell in cells.values()),
        weights=used,
    )


def _quotas(jobs: Sequence[int], size: int | None) -> list[int]:
    """How many jobs each class may bring: later classes have their reserve, the earlier ones what is left."""
    if size is None or sum(jobs) <= size:
        return list(jobs)
    reserve = max(1, round(size * RESERVED))
    quotas = [min(count, reserve) for count in jobs]
    left = size - sum(quotas)
    for place, count in enumerate(jobs):
        more = max(0, min(count - quotas[place], left))
        quotas[place] += more
        left -= more
    return quotas


def _until(tasks: Sequence[str], cells: Mapping[str, _Cell], quota: int) -> list[str]:
    taken: list[str] = []
    jobs = 0
    for task in tasks:
        if jobs >= quota:
            break
        taken.append(task)
        jobs += len(cells[task].rows)
    return taken
