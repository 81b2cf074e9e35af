"""Run metrics of jobs and groups, as objects and as the documented files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchloop_client import paging
from benchloop_client.actions.destination import Destination, beside, in_group
from benchloop_client.actions.events import Wrote
from benchloop_client.actions.layout import Layout, Nested, object_chunks
from benchloop_client.actions.lists import spooled
from benchloop_client.actions.report import Report
from benchloop_client.actions.shapes import must_exist
from benchloop_client.actions.work import Work, placed
from benchloop_client.contract import metrics as names

_JOB_KEYS = ("metrics", "run_metrics", "tokenized_metrics")
_GROUP_NAMES = {"run_metrics": tuple(names.GROUP_RUN), "tokenized_metrics": names.group_token_names()}


def of_job(work: Work, job_id: str) -> dict[str, Any]:
    """`{job_id, metrics, run_metrics, tokenized_metrics}`."""
    answer = work.client.job_metrics(job_id)
    if not isinstance(answer, dict):
        answer = {"metrics": answer}
    return {"job_id": answer.get("job_id", job_id), **{key: answer.get(key) for key in _JOB_KEYS}}


def overall(work: Work, group_id: str) -> Any:
    """`{group_id, run_metrics, tokenized_metrics}` of a group, documented names first and in the documented order."""
    answer = work.client.group_metrics_overall(group_id)
    if not isinstance(answer, dict):
        return answer
    return {"group_id": answer.get("group_id", group_id), **{key: _ordered(answer.get(key), key) for key in _GROUP_NAMES}}


def detail(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """`{group_id, total, metrics, tokenized_metrics}` of a group as text. Raises `NotFound` for an unknown group."""
    listing = paging.all_metrics(work.client, group_id)
    tokens = _first_tokens(listing)
    with spooled(listing, layout.inner(2)) as rows:
        if not rows.count:
            must_exist(work.client, group_id)
        found = ("tokenized_metrics", _ordered(tokens[0] if tokens else None, "tokenized_metrics"))
        yield from object_chunks((("group_id", group_id), ("total", rows.total), ("metrics", rows), found), layout)


def job_element(work: Work, job_id: str, *, layout: Layout) -> Iterator[bytes]:
    """The object of one job as text."""
    yield layout.value(of_job(work, job_id))


def group_element(work: Work, group_id: str, *, scope: str, layout: Layout) -> Iterator[bytes]:
    """`{group_id, overall?, detail?}` as text; `scope` is overall, detail or all. Either part failing fails the group."""
    fields: list[tuple[str, Any]] = [("group_id", group_id)]
    if scope != "detail":
        fields.append(("overall", overall(work, group_id)))
    if scope != "overall":
        fields.append(("detail", Nested(lambda inner: detail(work, group_id, layout=inner))))
    yield from object_chunks(fields, layout)


def detail_rows(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """The metrics of each job of a group as text with a line end. Raises `NotFound` for an unknown group."""
    empty = True
    for row in paging.all_metrics(work.client, group_id):
        empty = False
        yield layout.value({"group_id": group_id, **row}) + b"\n"
    if empty:
        must_exist(work.client, group_id)


def download_jobs(work: Work, jobs: Sequence[str], destination: Destination) -> Report:
    """Write `<job>_run_metrics.json` of each job."""
    return work.run(jobs, lambda job_id: save_job(work, job_id, destination))


def download_groups(work: Work, groups: Sequence[str], destination: Destination, *, scope: str) -> Report:
    """Write `<group>/overall_metrics.json` and `<group>/detail_metrics.json` of each group."""

    def one(group_id: str) -> None:
        if scope != "detail":
            save_overall(work, group_id, destination)
        if scope != "overall":
            save_detail(work, group_id, destination)

    return work.run(groups, one)


def save_job(work: Work, job_id: str, destination: Destination) -> None:
    """Write `<job>_run_metrics.json`."""
    path = beside(job_id, "_run_metrics.json")
    outcome = destination.save_json(path, f"job_metrics {job_id}", lambda: job_element(work, job_id, layout=destination.layout))
    placed(work, outcome, Wrote)


def save_overall(work: Work, group_id: str, destination: Destination) -> None:
    """Write `<group>/overall_metrics.json`."""
    path = in_group(group_id, "overall_metrics.json")
    destination.ask_again(path)
    outcome = destination.save_json(path, f"overall {group_id}", lambda: iter((destination.layout.value(overall(work, group_id)),)))
    placed(work, outcome, Wrote)


def save_detail(work: Work, group_id: str, destination: Destination) -> None:
    """Write `<group>/detail_metrics.json`."""
    path = in_group(group_id, "detail_metrics.json")
    destination.ask_again(path)
    outcome = destination.save_json(path, f"detail {group_id}", lambda: detail(work, group_id, layout=destination.layout))
    placed(work, outcome, Wrote)


def _first_tokens(listing: paging.Listing) -> list[Any]:
    """Filled while the pages arrive: the first `tokenized_metrics` that is not null."""
    found: list[Any] = []
    fetch = listing.fetch

    def noting(*, skip: int, limit: int, cursor: str | None) -> Any:
        answer = fetch(skip=skip, limit=limit, cursor=cursor)
        tokens = answer.get("tokenized_metrics") if isinstance(answer, dict) else None
        if tokens is not None and not found:
            found.append(tokens)
        return answer

    listing.fetch = noting
    return found


def _ordered(value: Any, kind: str) -> Any:
    if isinstance(value, list):
        return [_ordered(item, kind) for item in value]
    if not isinstance(value, dict):
        return value
    known = {name: value[name] for name in _GROUP_NAMES[kind] if name in value}
    return known | value
