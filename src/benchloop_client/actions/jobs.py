"""The job list of a group: one page, or all of it without holding it in memory."""

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
from benchloop_client.errors import UsageError

__all__ = ["JOBS", "Query", "download", "element", "rows"]


#: Filters that every server knows.
_DOCUMENTED = frozenset({"template", "status", "instance_id"})


class _Jobs:
    rows = "jobs"
    file = "job_list.json"
    label = "job"

    def page(self, work: Work, group_id: str, query: Query) -> Any:
        return work.client.jobs_page(group_id, skip=query.skip, limit=query.limit, filters=_known(work, query))

    def listing(self, work: Work, group_id: str, query: Query, on_page: OnPage | None) -> paging.Listing:
        return paging.all_jobs(work.client, group_id, page_size=query.rows_a_request(work), filters=_known(work, query), on_page=on_page)


def _known(work: Work, query: Query) -> dict[str, Any]:
    """The filters, if the server knows them: an older one would leave out what it does not know, and answer with other jobs."""
    more = sorted(name for name, value in query.filters.items() if value not in {None, ""} and name not in _DOCUMENTED)
    if more and not work.client.has("filters"):
        raise UsageError(f"the server cannot filter jobs by {', '.join(more)}")
    return dict(query.filters)


#: The job list, for `lists`.
JOBS = _Jobs()


def element(work: Work, group_id: str, query: Query, *, layout: Layout) -> Iterator[bytes]:
    """The object of one group as text: one page's answer, or all jobs. Raises `NotFound` for an unknown group."""
    return lists.element(JOBS, work, group_id, query, layout=layout)


def rows(work: Work, group_id: str, query: Query, *, layout: Layout) -> Iterator[bytes]:
    """The jobs of one group, each as text with a line end."""
    return lists.rows(JOBS, work, group_id, query, layout=layout)


def download(work: Work, groups: Sequence[str], destination: Destination, *, query: Query) -> Report:
    """Write `<group>/job_list.json` of each group."""
    return lists.download(JOBS, work, groups, destination, query=query)
