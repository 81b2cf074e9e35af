"""Finds the jobs of a group or download task that are wanted: through the filters of the server's list, or by a look at each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchloop_client import paging
from benchloop_client.actions.events import Noted
from benchloop_client.actions.selection import EVERY, Selection
from benchloop_client.actions.shapes import must_exist
from benchloop_client.actions.work import Chosen, Work
from benchloop_client.errors import ApiError, UsageError

Row = Mapping[str, Any]


def choose(work: Work, group_id: str) -> Chosen:
    """The jobs of a group that `work.selection` means, and a line about how many those are; found once for each group.

    A server of ours filters its list; an older one is asked for all of it. Raises `NotFound` for an unknown group, `UsageError` where the
    server does not tell what is asked after.
    """
    known = work.chosen.get(group_id)
    if known is not None:
        return known
    selection = work.selection
    matching = _matching(work, group_id, selection)
    jobs = selection.drawn(list(matching.sizes), group_id)
    chosen = Chosen(tuple(jobs), matching.of, _sum(matching.sizes[job_id] for job_id in jobs))
    work.watch(Noted(f"{len(jobs)} of {chosen.of} job(s) of {group_id} selected ({selection.words(group_id)})"))
    work.chosen[group_id] = chosen
    return chosen


def size_of(work: Work, group_id: str) -> int | None:
    """What the trajectories of the wanted jobs of a group come to in bytes, None where the server does not tell."""
    return choose(work, group_id).size if work.selection else _sum(_matching(work, group_id, EVERY).sizes.values())


def within(work: Work, task_id: str, jobs: Sequence[str], group_id: object) -> list[str]:
    """Those of the jobs of a download task that are wanted. Raises as `choose`, and `UsageError` where the task does not name its group."""
    selection = work.selection
    if not selection:
        return list(jobs)
    wanted = list(jobs)
    if selection.conditions:
        if not isinstance(group_id, str) or not group_id:
            raise UsageError(f"download task {task_id} does not say of which group it is: its jobs cannot be selected")
        matching = _matching(work, group_id, selection).sizes
        wanted = [job_id for job_id in jobs if job_id in matching]
    wanted = selection.drawn(wanted, task_id)
    work.watch(Noted(f"{len(wanted)} of {len(jobs)} job(s) of {task_id} selected ({selection.words(task_id)})"))
    return wanted


@dataclass(slots=True)
class _Matching:
    """Size of the trajectory by the id of each job that meets the conditions, and how many jobs there are in all."""

    sizes: dict[str, int | None]
    of: int


def _matching(work: Work, group_id: str, selection: Selection) -> _Matching:
    here, there = _split(selection, filters=work.client.has("filters"))
    checks = [_Check(name, keys, values) for name, keys, values in here if values]
    found: dict[str, int | None] = {}
    seen = 0
    for row in paging.all_jobs(work.client, group_id, filters=there):
        seen += 1
        job_id, size = row.get("job_id"), row.get("trajectory_bytes")
        if not isinstance(job_id, str) or not job_id:
            raise ApiError(200, f"a row in the job list of {group_id} has no job_id")
        # Each of them looks at each row, to know in the end whether the server tells what it looks for.
        verdicts = [check.passes(row) for check in checks]
        if all(verdicts):
            found[job_id] = size if isinstance(size, int) else None
    for check in checks:
        if seen and not check.told:
            raise UsageError(f"the server does not tell the {check.name} of the jobs of {group_id}: they cannot be selected by it")
    if not there:
        if not seen:
            must_exist(work.client, group_id)
        return _Matching(found, seen)
    group = work.client.group(group_id)
    present = group.get("present") if isinstance(group, dict) else None
    return _Matching(found, present if isinstance(present, int) else seen)


_Condition = tuple[str, tuple[str, ...], tuple[Any, ...]]


def _split(selection: Selection, *, filters: bool) -> tuple[list[_Condition], dict[str, str]]:
    """What this client looks at itself, as (name, keys in a row, values), and what the server filters by."""
    conditions: dict[str, _Condition] = {
        "outcome": ("outcome", ("outcome",), selection.outcome),
        "task_id": ("task", ("task_id", "taskId"), selection.tasks),
        "step": ("step", ("step",), selection.steps),
        "fail_reason": ("fail reason", ("fail_reason", "failReason"), selection.fail_reasons),
    }
    sent = {"status": ",".join(selection.status)} if selection.status and (filters or len(selection.status) == 1) else {}
    if not sent:
        conditions["status"] = ("status", ("status",), selection.status)
    if filters:
        for name, (_, _, values) in list(conditions.items()):
            # The server takes one task id, which may hold a comma; so may a reason.
            if values and (len(values) == 1 or name in {"outcome", "step"}):
                sent[name] = ",".join(map(str, values))
                del conditions[name]
    return list(conditions.values()), sent


class _Check:
    """One condition on rows. `told` once a row has had something to look at."""

    def __init__(self, name: str, keys: Iterable[str], values: Iterable[object]) -> None:
        self.name = name
        self.told = False
        self._keys, self._values = tuple(keys), {str(value) for value in values}

    def passes(self, row: Row) -> bool:
        """Whether the row meets it."""
        key = next((key for key in self._keys if key in row), None)
        if key is None:
            return False
        self.told = True
        return row[key] is not None and str(row[key]) in self._values


def _sum(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
