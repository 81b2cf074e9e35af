"""The task list of a group: one page, or all of it without holding it in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchloop_client import paging
from benchloop_client.actions import lists
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.lists import OnPage, Query
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Work

__all__ = ["TASKS", "Query", "download", "element", "rows"]


class _Tasks:
    rows = "tasks"
    file = "task_list.json"
    label = "task"

    def page(self, work: Work, group_id: str, query: Query) -> Any:
        return work.client.eval_tasks_page(group_id, skip=query.skip, limit=query.limit, **_filters(query))

    def listing(self, work: Work, group_id: str, query: Query, on_page: OnPage | None) -> paging.Listing:
        return paging.all_tasks(work.client, group_id, page_size=query.rows_a_request(work), on_page=on_page, **_filters(query))


#: The task list, for `lists`.
TASKS = _Tasks()


def element(work: Work, group_id: str, query: Query, *, layout: Layout) -> Iterator[bytes]:
    """The object of one group as text: one page's answer, or all tasks. Raises `NotFound` for an unknown group."""
    return lists.element(TASKS, work, group_id, query, layout=layout)


def rows(work: Work, group_id: str, query: Query, *, layout: Layout) -> Iterator[bytes]:
    """The tasks of one group, each as text with a line end."""
    return lists.rows(TASKS, work, group_id, query, layout=layout)


def download(work: Work, groups: Sequence[str], destination: Destination, *, query: Query) -> Report:
    """Write `<group>/task_list.json` of each group."""
    return lists.download(TASKS, work, groups, destination, query=query)


def _filters(query: Query) -> dict[str, str | None]:
    return {name: query.filters.get(name) for name in ("search", "status")}
