"""Download tasks: lists of jobs, frozen on the server under an id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchloop_client.actions.layout import Layout
from benchloop_client.actions.work import Work
from benchloop_client.contract.resources import DownloadTaskCreate


def create(work: Work, group_id: str, *, filters: Mapping[str, Any]) -> Any:
    """Freeze the jobs of a group that match `filters`; returns the task."""
    request = DownloadTaskCreate(group_id=group_id, **{name: value for name, value in filters.items() if value not in (None, "")})
    return work.client.download_task_create(request)


def created_element(work: Work, group_id: str, *, filters: Mapping[str, Any], layout: Layout) -> Iterator[bytes]:
    """Create the task of a group; its text."""
    yield layout.value(create(work, group_id, filters=filters))


def element(work: Work, task_id: str, *, layout: Layout) -> Iterator[bytes]:
    """One task's object as text."""
    yield layout.value(work.client.download_task(task_id))
