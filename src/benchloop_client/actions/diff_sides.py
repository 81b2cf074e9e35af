"""One side of a comparison, read job by job from a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchloop_client import paging
from benchloop_client.actions.events import Counted
from benchloop_client.actions.shapes import must_exist
from benchloop_client.actions.work import Work
from benchloop_client.contract.comparison.sides import Counts, Mean, Side, Tally, number, value_of
from benchloop_client.errors import ApiError, NotFound

__all__ = ["Counts", "Mean", "Side", "Tally", "number", "read", "value_of"]


def read(work: Work, side: Side) -> Counts:
    """Every job of a side, counted; memory grows with the tasks, not with the jobs. Raises `NotFound` for an unknown group or step."""
    counts = Counts(side)

    def told(done: int, total: int | None) -> None:
        work.watch(Counted(f"jobs of {side}", "jobs", done, total, "fetched"))

    filters = {} if side.step is None else {"step": side.step}
    for job in paging.all_jobs(work.client, side.group_id, filters=filters, on_page=told):
        step = value_of(job, "step")
        # A server that does not know the filter sends the whole group.
        if side.step is not None and step != side.step:
            continue
        if isinstance(step, int):
            counts.steps.add(step)
        counts.jobs += 1
        counts.tasks.setdefault(_task_of(job, side), Tally()).add(job)
    if not counts.jobs:
        _explain_empty(work, side)
    return counts


def _task_of(job: Mapping[str, Any], side: Side) -> str:
    for name in ("task_id", "instance_id"):
        value = value_of(job, name)
        if isinstance(value, str) and value:
            return value
    raise ApiError(200, f"job {job.get('job_id')} in the list of {side} has no task_id: its jobs cannot be paired by task")


def _explain_empty(work: Work, side: Side) -> None:
    """Raise `NotFound` for a side that is not there; return for a group that has no jobs yet."""
    must_exist(work.client, side.group_id)
    if side.step is None:
        return
    steps = value_of(work.client.group(side.group_id) or {}, "steps")
    known = ", ".join(map(str, steps)) if isinstance(steps, list) and steps else "none"
    raise NotFound(404, f"group {side.group_id} has no jobs of step {side.step}; its steps: {known}")
