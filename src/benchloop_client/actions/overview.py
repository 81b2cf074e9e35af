"""Statistics of jobs and groups as one object each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchloop_client.actions.layout import Layout
from benchloop_client.actions.work import Work


def of_job(work: Work, job_id: str) -> dict[str, Any]:
    """`{job_id, job, stats}`: the job, and the statistics of its group."""
    job = work.client.job(job_id)
    group_id = job.get("group_id") if isinstance(job, dict) else None
    return {"job_id": job_id, "job": job, "stats": work.client.job_stats(group_id or None)}


def of_group(work: Work, group_id: str, *, scope: str = "all") -> dict[str, Any]:
    """`{group_id, summary?, tasks?}`; `scope` is summary, tasks or all."""
    found: dict[str, Any] = {"group_id": group_id}
    if scope != "tasks":
        found["summary"] = work.client.eval_summary(group_id)
    if scope != "summary":
        found["tasks"] = work.client.eval_tasks(group_id)
    return found


def job_element(work: Work, job_id: str, *, layout: Layout) -> Iterator[bytes]:
    """The object of one job as text."""
    yield layout.value(of_job(work, job_id))


def group_element(work: Work, group_id: str, *, scope: str, layout: Layout) -> Iterator[bytes]:
    """The object of one group as text."""
    yield layout.value(of_group(work, group_id, scope=scope))
