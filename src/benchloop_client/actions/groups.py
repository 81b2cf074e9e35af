"""The groups of the workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchloop_client import paging
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.work import Work


def listed(work: Work) -> Iterator[dict[str, Any]]:
    """All groups, newest first."""
    yield from paging.all_groups(work.client)


def element(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """One group's object as text."""
    yield layout.value(work.client.group(group_id))
