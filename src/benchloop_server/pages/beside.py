"""Two attempts at one task side by side: what they came to, and where their calls part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.resources import Job
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.trajectories import marks as marking
from benchloop_server.features.trajectories import steps as stored
from benchloop_server.features.trajectories.marks import Call
from benchloop_server.features.trajectories.service import Absent
from benchloop_server.pages import viewer
from benchloop_server.pages.page import Asked, Crumb, Page, command, path_of, with_query
from benchloop_server.pages.routing import page

#: Calls shown before the two part, and from there on.
_BEFORE, _AFTER = 6, 60
_FACTS = (
    *("task_id", "attempt", "step", "outcome", "reward", "reward_valid", "fail_reason", "sub_fail_reason", "model", "agent"),
    *("n_steps", "n_tool_calls", "n_input_tokens", "n_output_tokens", "cost_usd", "duration_s"),
)


def beside(asked: Asked) -> Page:
    """The jobs of the path's two ids."""
    ids = (asked.ids["job_id"], asked.ids["other_id"])
    pair = [jobs.get(asked.services, asked.principal, job_id) for job_id in ids]
    calls, errors = zip(*(_calls(asked, job_id) for job_id in ids), strict=True)
    same = parting(*calls)
    first = max(0, same - _BEFORE) if asked.one("from") == "" else min(asked.whole("from", 1, most=10**6) - 1, max(map(len, calls)))
    rows = [_row(number, same, calls, ids) for number in range(first, min(max(map(len, calls)), max(same, first) + _AFTER))]
    after = first + len(rows)
    return Page(
        template="job-beside.html",
        title="Two attempts at one task" if pair[0].task_id == pair[1].task_id else "Two jobs",
        line=_line(same, calls),
        crumbs=_crumbs(pair[0]),
        data={
            "pair": [_facts(job, wrong) for job, wrong in zip(pair, errors, strict=True)],
            "same": same,
            "rows": rows,
            "earlier": with_query(asked.path, (("from", str(max(1, first + 1 - _AFTER))),)) if first > 0 else None,
            "later": with_query(asked.path, (("from", str(after + 1)),)) if after < max(map(len, calls)) else None,
            "swap": path_of("jobs", ids[1], "beside", ids[0]),
        },
        commands=[command("report", "get", "-j", job_id) for job_id in ids],
        routes=[f"/openapi{path_of('jobs', job_id, 'trajectory')}" for job_id in ids],
    )


def parting(mine: Sequence[Call], theirs: Sequence[Call]) -> int:
    """How many calls from the beginning do the same to the same things."""
    same = 0
    for one, other in zip(mine, theirs, strict=False):
        if one.signature != other.signature:
            break
        same += 1
    return same


def _calls(asked: Asked, job_id: str) -> tuple[Sequence[Call], int | None]:
    one = stored.opened(asked.services, asked.principal, job_id)
    if isinstance(one, Absent):
        return (), None
    found = marking.of(asked.services, one)
    return found.calls, len(found.errors)


def _row(number: int, same: int, calls: Sequence[Sequence[Call]], ids: Sequence[str]) -> dict[str, Any]:
    cells = [_cell(some[number], job_id) if number < len(some) else None for some, job_id in zip(calls, ids, strict=True)]
    return {"number": number + 1, "same": number < same, "first": number == same, "cells": cells}


def _cell(call: Call, job_id: str) -> dict[str, Any]:
    return {"step": call.step_id, "text": call.text, "is_error": call.is_error, "url": viewer.step_url(job_id, call.step_id)}


def _facts(job: Job, errors: int | None) -> dict[str, Any]:
    return {"job_id": job.job_id, "url": path_of("jobs", job.job_id), "errors": errors, **{name: getattr(job, name) for name in _FACTS}}


def _line(same: int, calls: Sequence[Sequence[Call]]) -> str:
    if not all(calls):
        return "Not both of them have recorded calls."
    if same == len(calls[0]) == len(calls[1]):
        return f"All {same} calls do the same to the same files."
    if same < 2:
        return "The first call is the same; they part at the second." if same else "They part at the first call."
    return f"The first {same} calls do the same to the same files; they part at call {same + 1}."


def _crumbs(job: Job) -> tuple[Crumb, ...]:
    group = path_of("groups", job.group_id)
    return (Crumb("Groups", "/groups"), Crumb(job.group_id, group), Crumb(job.job_id, path_of("jobs", job.job_id)), Crumb("Beside"))


ROUTES: list[HTTPRouteHandler] = [page("/jobs/{job_id:str}/beside/{other_id:str}", beside)]
