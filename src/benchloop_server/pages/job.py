"""The page of a job: why it ended as it did with links to the evidence, its trajectory in windows, its numbers, files and siblings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.analysis import UNFINISHED, JobReport
from benchloop_client.contract.resources import Job
from benchloop_server.features.artifacts import service as artifacts
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.listing import service as listing
from benchloop_server.features.listing.query import parse
from benchloop_server.features.reports import service as reports
from benchloop_server.features.trajectories import steps as stored
from benchloop_server.features.trajectories.service import Absent
from benchloop_server.features.trajectories.steps import Opened
from benchloop_server.kit.errors import not_found
from benchloop_server.pages import formatting, sending, viewer
from benchloop_server.pages.page import Asked, Crumb, Done, Page, Pairs, command, path_of, with_query
from benchloop_server.pages.routing import action, page

_FILES, _SIBLINGS = 12, 24
_LIVE = 5
_TIERS = {
    "A": "A recorded fact",
    "B": "Read from the structure of the run",
    "C": "Read from words that somebody wrote",
    "D": "What is left when nothing else explains it",
}


class News(msgspec.Struct, frozen=True):
    """Another `version` for another state of the job or of its analysis."""

    version: str


def job(asked: Asked) -> Page:
    """One job. `at`, `from` and `find` say which steps are shown; the other parameters are the filter it was found by."""
    job_id = asked.ids["job_id"]
    found = jobs.get(asked.services, asked.principal, job_id)
    meta = jobs.meta(asked.services, asked.principal, job_id)
    report = reports.job_report(asked.services, asked.principal, job_id)
    query = viewer.filter_of(asked)
    data = {
        "job": found,
        "meta": _meta(msgspec.to_builtins(meta)),
        "phases": _phases(meta.phases),
        "verdict": _verdict(report, job_id, query),
        "files": _files(asked, found),
        "siblings": _siblings(asked, found, query),
        "around": _around(asked, found, query),
        "filter": query,
        **_trajectory(asked),
    }
    running = found.status in {"pending", "running"} or (report.status in UNFINISHED and report.status != "not_analysed")
    return Page(
        template="job.html",
        title=job_id,
        crumbs=_crumbs(found, query),
        line=_line(found),
        data=data,
        commands=[command("pull", "-j", job_id, "-o", "data"), command("report", "get", "-j", job_id)],
        routes=[f"/openapi{path_of('jobs', job_id)}", f"/openapi{path_of('jobs', job_id, 'trajectory')}"],
        live=_LIVE if running else None,
        news=(path_of("jobs", job_id, "news"), _version(found, report)) if running else None,
    )


def news(asked: Asked) -> News:
    """Whether the page is to be drawn anew."""
    found = jobs.get(asked.services, asked.principal, asked.ids["job_id"])
    return News(_version(found, reports.job_report(asked.services, asked.principal, asked.ids["job_id"])))


def report_text(asked: Asked) -> Any:
    """The report as Markdown, to save."""
    job_id = asked.ids["job_id"]
    found = reports.job_report(asked.services, asked.principal, job_id)
    if not found.reports:
        raise not_found("the report of job", job_id)
    return sending.text(found.reports[0].content.encode(), media_type="text/markdown", name=f"{job_id}.report.md")


def analyse(asked: Asked) -> Done:
    """Ask for the report."""
    reports.want_of_job(asked.services, asked.principal, asked.ids["job_id"], kind="report")
    return Done(location=path_of("jobs", asked.ids["job_id"]))


def _version(found: Job, report: JobReport) -> str:
    return f"{found.updated_at} {found.status} {report.status}"


def _trajectory(asked: Asked) -> dict[str, Any]:
    one = stored.opened(asked.services, asked.principal, asked.ids["job_id"])
    if isinstance(one, Absent) or not len(one):
        return {"window": None, "outline": [], "ribbon": None, "bytes": 0, "found": None}
    shown = viewer.look(asked, one)
    return {
        "window": shown,
        "outline": viewer.rows_of(one, shown.first, shown.last),
        "ribbon": viewer.ribbon_of(asked, one),
        "bytes": one.stored.document_bytes,
        "found": _found(asked, one),
    }


def _found(asked: Asked, one: Opened) -> dict[str, Any] | None:
    wanted = asked.one("find")
    return viewer.search(asked, one, wanted) if wanted.strip() else None


def _crumbs(found: Job, query: Pairs) -> Sequence[Crumb]:
    group = path_of("groups", found.group_id)
    return (
        Crumb("Groups", "/groups"),
        Crumb(found.group_id, group),
        Crumb("Jobs", with_query(f"{path_of('groups', found.group_id, 'jobs')}", query)),
        Crumb(found.job_id),
    )


def _line(found: Job) -> str:
    step = "" if found.step is None else f", training step {found.step}"
    parts = [f"Task {formatting.short(found.task_id, 60, 20)}, attempt {found.attempt}{step}"]
    parts += [f"{formatting.short(name, 40, 10)}" for name in (found.agent, found.model) if name]
    return " · ".join(parts)


def _verdict(report: JobReport, job_id: str, query: Pairs) -> dict[str, Any]:
    """What the card shows; `cited` is the whole evidence with links."""
    return {
        "status": report.status,
        "error": report.error,
        "fail_reason": report.fail_reason,
        "sub_fail_reason": report.sub_fail_reason,
        "tier": report.tier,
        "tier_says": _TIERS.get(report.tier or "", ""),
        "fault_side": report.fault_side,
        "reward_valid": report.reward_valid,
        "says": report.says,
        "cited": [_cited(each, job_id, query) for each in report.evidence],
        "secondary": [
            {
                "fail_reason": label.get("fail_reason"),
                "sub_fail_reason": label.get("sub_fail_reason"),
                "says": label.get("says"),
                "cited": [_cited(each, job_id, query) for each in label.get("evidence", [])],
            }
            for label in report.secondary
        ],
        "wasted_steps": report.wasted_steps,
        "wasted_seconds": report.wasted_seconds,
        "opinion": report.opinion,
        "ruleset": report.ruleset_version,
    }


def _cited(evidence: Mapping[str, Any], job_id: str, query: Pairs) -> dict[str, Any]:
    """A piece of evidence: what it is called, what stands there, and where that is."""
    source, field, step = evidence.get("source"), str(evidence.get("field", "")), evidence.get("step_id")
    url, label = None, field
    if source == "step" and isinstance(step, int):
        url, label = viewer.step_url(job_id, step, query), f"Step {step}"
    elif source == "file":
        place = (("start", str(evidence["start"])),) if evidence.get("start") is not None else ()
        url = with_query(path_of("jobs", job_id, "file"), (("path", field), *place))
    return {"label": label, "field": field, "quote": str(evidence.get("quote", "")), "url": url, "source": source}


def _files(asked: Asked, found: Job) -> dict[str, Any] | None:
    if found.artifact_bytes is None:
        return None
    members = artifacts.members(asked.services, asked.principal, found.job_id)
    rows = [
        {"path": each.path, "size": each.size, "url": with_query(path_of("jobs", found.job_id, "file"), (("path", each.path),))}
        for each in members.members[:_FILES]
    ]
    return {"total": members.total, "rows": rows, "bytes": found.artifact_bytes}


def _siblings(asked: Asked, found: Job, query: Pairs) -> list[dict[str, Any]]:
    rows = listing.attempts(asked.services, asked.principal, found.group_id, task_ids=[found.task_id])[found.task_id]
    others = [row for row in rows if row.job_id != found.job_id]
    return [
        {
            "job_id": row.job_id,
            "attempt": row.attempt,
            "step": row.step,
            "outcome": row.outcome,
            "reward_valid": row.reward_valid,
            "url": with_query(path_of("jobs", row.job_id), query),
            "beside": path_of("jobs", found.job_id, "beside", row.job_id),
        }
        for row in others[:_SIBLINGS]
    ]


def _around(asked: Asked, found: Job, query: Pairs) -> dict[str, Any]:
    """The jobs before and after this one in the list that the filter makes."""
    wanted = parse(found.group_id, query)
    beside = listing.neighbours(asked.services, asked.principal, wanted, found.job_id)
    urls = {
        name: None if job_id is None else with_query(path_of("jobs", job_id), query)
        for name, job_id in (("before", beside.before), ("after", beside.after))
    }
    return {**urls, "filtered": wanted.is_filtered}


def _phases(phases: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The timed parts of the trial, with how long each took."""
    found = []
    for name, part in phases.items():
        start, end = formatting.parsed(part.get("started_at")), formatting.parsed(part.get("finished_at"))
        seconds = (end - start).total_seconds() if start and end else None
        found.append({"name": name.replace("_", " "), "seconds": seconds, "started_at": part.get("started_at")})
    return found


def _meta(record: dict[str, Any]) -> dict[str, Any]:
    """The source's record without what the page shows already."""
    kept = ("trial_key", "instance_id", "template", "agent_version", "fingerprint", "trajectory_sha256", "archive_sha256")
    source = {f"source {name}": value for name, value in (record.get("source") or {}).items()}
    plain = {**{name: record.get(name) for name in kept}, **source}
    own = msgspec.json.format(msgspec.json.encode(record.get("meta") or {}), indent=2).decode()
    return {
        "facts": {name: value for name, value in plain.items() if value is not None},
        "own": own[:20_000],
        "left": max(0, len(own) - 20_000),
    }


ROUTES: list[HTTPRouteHandler] = [
    page("/jobs/{job_id:str}", job),
    page("/jobs/{job_id:str}/news", news),
    page("/jobs/{job_id:str}/report", report_text),
    action("/jobs/{job_id:str}/analyse", analyse),
]
