"""The trajectories of a group one document after another, so that a caller can look at each before the next has to be held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchloop_client import paging
from benchloop_client.actions import trajectory
from benchloop_client.actions.lines import lines
from benchloop_client.actions.shapes import must_exist
from benchloop_client.actions.work import Work
from benchloop_client.errors import ApiError, NotFound


def documents(work: Work, group_id: str, *, filters: Mapping[str, Any] | None = None) -> Iterator[bytes]:
    """The E10 documents of the jobs that match, in the order of the job list; a job without one is left out where the server has none to
    give. All of a group come in one stream where the server offers that, else a few jobs at a time. Raises `NotFound` for an unknown group.
    """
    if not filters and work.client.has("group-lines"):
        with work.client.group_trajectory_lines(group_id) as stream:
            yield from lines(stream)
        return
    for result in work.results(_job_ids(work, group_id, filters or {}), lambda job_id: trajectory.document(work, job_id), ordered=True):
        if isinstance(result.error, NotFound):
            continue
        if result.error is not None:
            raise result.error
        assert result.value is not None
        yield result.value


def _job_ids(work: Work, group_id: str, filters: Mapping[str, Any]) -> Iterator[str]:
    empty = True
    for row in paging.all_jobs(work.client, group_id, filters=dict(filters)):
        empty = False
        if not isinstance(row.get("job_id"), str) or not row["job_id"]:
            raise ApiError(200, f"a row in the job list of {group_id} has no job_id")
        yield row["job_id"]
    if empty:
        must_exist(work.client, group_id)
