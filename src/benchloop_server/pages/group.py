"""One group: whether its rewards can be trusted, what passed, why the rest did not, what it cost, and attempt by attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.analysis import GroupReport
from benchloop_client.contract.metrics import GROUP_RUN
from benchloop_client.contract.resources import Group
from benchloop_client.contract.summaries import EvalSummary
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs.service import Window
from benchloop_server.features.listing import service as listing
from benchloop_server.features.listing.service import MOST_ATTEMPTS, JobQuery, Spread
from benchloop_server.features.metrics import service as metrics
from benchloop_server.features.reports import service as reports
from benchloop_server.kit.clock import parse_time
from benchloop_server.pages import figures, formatting
from benchloop_server.pages.page import Asked, Crumb, Page, changed, command, path_of, with_query
from benchloop_server.pages.routing import page

_TASKS = 40
_MOST_TASKS = 200
_SIGNATURES = 20
_TAGS = 12
_LIVE_SECONDS = 120
_REFRESH = 5
_MICROS = 1_000_000
_SUMMARY_BYTES = 50_000
#: A glyph for a reason in the grid, beside the sign of the outcome.
REASON_SIGNS = {
    "verifier_error": "V",
    "environment_error": "E",
    "harness_error": "H",
    "model_api_error": "A",
    "limit_exhausted": "L",
    "agent_process": "P",
    "tool_use": "T",
    "task_understanding": "U",
    "wrong_solution": "W",
    "integrity_suspected": "I",
    "task_defect_suspected": "D",
    "unknown": "?",
}


def group(asked: Asked) -> Page:
    """The page of a group."""
    group_id = asked.ids["group_id"]
    services, principal = asked.services, asked.principal
    found = groups.get(services, principal, group_id)
    summary = _summary(asked, found)
    report = reports.group_report(services, principal, group_id)
    tasks = _tasks(asked, found, summary)
    data = {
        "group": found,
        "summary": summary,
        "analysis": {"status": report.status, "error": report.error, "made_at": report.reports[0].created_at if report.reports else None},
        "banner": _banner(summary, report.report),
        "pass_at_k": _pass_at_k(summary, report.report),
        "metrics": metrics.group_metrics(services, principal, group_id).run_metrics,
        "metric_words": GROUP_RUN,
        "reasons": _reasons(asked, summary, report.report),
        "findings": (report.report or {}).get("findings", [])[:_TAGS],
        "signatures": _signatures(report.report),
        "jobs_url": path_of("groups", group_id, "jobs"),
        "reason_signs": REASON_SIGNS,
        "figures": _figures(asked, summary, report.report),
        "most_attempts": MOST_ATTEMPTS,
        **tasks,
    }
    return Page(
        template="group.html",
        title=found.name,
        line=_line(found, summary, report.report),
        crumbs=[Crumb("Groups", "/groups"), Crumb(group_id)],
        data=data,
        commands=[
            command("overview", "get", "-g", group_id),
            command("metrics", "get", "-g", group_id, scope="overall"),
            command("report", "get", "-g", group_id),
            command("pull", "-g", group_id, "-o", "data"),
        ],
        routes=[f"/openapi{path_of('groups', group_id)}{end}" for end in ("/eval_summary", "/metrics/overall", "/report")],
        charts=True,
        live=_REFRESH if _is_live(asked, found, summary) else None,
        news=(path_of("groups", group_id, "version"), _version(found, report)),
    )


def _summary(asked: Asked, found: Group) -> EvalSummary:
    """At most some seconds old where nothing was pushed meanwhile."""
    key = ("summary", asked.principal.workspace_id, found.group_id, found.updated_at)
    return asked.services.glimpses.get(
        key, lambda: metrics.eval_summary(asked.services, asked.principal, found.group_id), weight=lambda _: _SUMMARY_BYTES
    )


def _is_live(asked: Asked, found: Group, summary: EvalSummary) -> bool:
    """Something ends yet, or came in a moment ago."""
    quiet = asked.services.clock() - parse_time(found.updated_at)
    return quiet < _LIVE_SECONDS * _MICROS or bool(summary.outcomes.unfinished and quiet < 60 * _LIVE_SECONDS * _MICROS)


def _line(found: Group, summary: EvalSummary, report: Mapping[str, Any] | None) -> str:
    jobs = formatting.number(found.present)
    there = f"{jobs} jobs" if found.expected is None else f"{jobs} of {formatting.number(found.expected)} jobs"
    if report is not None:
        valid = report["rewards"]["passed_valid"]
        return f"{there} · of valid rewards passed: {formatting.rate(valid['count'], valid['of'])}"
    return f"{there} · passed: {formatting.rate(summary.pass_rate.numerator, summary.pass_rate.denominator)}"


def _banner(summary: EvalSummary, report: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The pass rate with and without rewards that are known to say nothing; None where all of them count."""
    if report is not None:
        rewards = report["rewards"]
        if not rewards["invalid"]:
            return None
        return {"invalid": rewards["invalid"], "ended": rewards["ended"], "recorded": rewards["passed"], "valid": rewards["passed_valid"]}
    validity = summary.reward_validity
    if not validity.invalid:
        return None
    counts = summary.outcomes
    graded = counts.passed + counts.partial + counts.failed
    ended = graded + counts.errored + counts.ungraded
    return {
        "invalid": validity.invalid,
        "ended": ended,
        "recorded": {"count": counts.passed, "of": ended},
        "valid": {"count": counts.passed, "of": graded},
    }


def _pass_at_k(summary: EvalSummary, report: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if report is not None:
        return [dict(row) for row in report["pass_at_k"]]
    return [{"k": row.k, "value": row.value, "tasks": row.tasks, "low": None, "high": None, "method": None} for row in summary.pass_at_k]


def _reasons(asked: Asked, summary: EvalSummary, report: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Each sub-reason with its share of the failed jobs, where the fault lies, what it wasted, and the jobs behind it."""
    rows = []
    for reason in (report or {}).get("reasons", []):
        for sub in reason["subs"]:
            name, part = reason["fail_reason"], sub["sub_fail_reason"]
            rows.append(
                {
                    "fail_reason": name,
                    "sub_fail_reason": part,
                    "count": sub["share"]["count"],
                    "of": sub["share"]["of"],
                    "sides": reason["fault_sides"],
                    "tiers": sub["tiers"],
                    "wasted_seconds": sub["wasted_seconds"],
                    "examples": [{**example, "url": _example_url(example)} for example in sub["examples"]],
                    "url": _reason_url(asked, name, part),
                }
            )
    if report is None:
        failed = sum(row.jobs for row in summary.fail_reasons)
        for each in summary.fail_reasons:
            url = _reason_url(asked, each.fail_reason, each.sub_fail_reason)
            facts: dict[str, Any] = {"sides": {}, "tiers": {}, "wasted_seconds": None, "examples": []}
            rows.append(
                {
                    "fail_reason": each.fail_reason,
                    "sub_fail_reason": each.sub_fail_reason,
                    "count": each.jobs,
                    "of": failed,
                    "url": url,
                    **facts,
                }
            )
    return rows


def _reason_url(asked: Asked, reason: str, sub: str | None = None) -> str:
    pairs = (("fail_reason", reason), *((("sub_fail_reason", sub),) if sub else ()))
    return with_query(path_of("groups", asked.ids["group_id"], "jobs"), pairs)


def _example_url(example: Mapping[str, Any]) -> str:
    step = example.get("step_id")
    return with_query(path_of("jobs", example["job_id"]), (("step", str(step)),) if step is not None else ())


def _signatures(report: Mapping[str, Any] | None) -> dict[str, Any]:
    found = (report or {}).get("signatures") or {"rows": [], "total": 0, "ranked_by": "seconds", "dropped": 0}
    rows = [{**row, "url": _example_url(row["example"])} for row in found["rows"][:_SIGNATURES]]
    return {**found, "rows": rows}


def _figures(asked: Asked, summary: EvalSummary, report: Mapping[str, Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    reasons = (report or {}).get("reasons", [])
    if reasons:
        urls = {
            (reason["fail_reason"], sub): _reason_url(asked, reason["fail_reason"], sub or None)
            for reason in reasons
            for sub in ("", *(each["sub_fail_reason"] for each in reason["subs"]))
        }
        found["treemap"] = figures.treemap(reasons, failed=(report or {})["failed"], url=urls)
    if sum(row.step is not None and row.pass_rate.denominator > 0 for row in summary.steps) > 1:
        found["steps"] = figures.steps(summary.steps)
    query = JobQuery(group_id=asked.ids["group_id"])
    for name, label in (
        ("cost_usd", "cost of a job, US dollars"),
        ("tokens", "tokens of a job, input and output"),
        ("duration", "duration of a job"),
    ):
        spread = listing.spread(asked.services, asked.principal, query, name)
        if spread.bars and spread.known > 1:
            found[name] = figures.histogram(spread, label=label, url=_bar_urls(asked, spread))
    return found


def _bar_urls(asked: Asked, spread: Spread) -> dict[tuple[float, float], str]:
    here = path_of("groups", asked.ids["group_id"], "jobs")
    return {
        (low, high): with_query(here, ((f"{spread.name}_from", f"{low:.12g}"), (f"{spread.name}_to", f"{high:.12g}")))
        for low, high, _ in spread.bars
    }


def _tasks(asked: Asked, found: Group, summary: EvalSummary) -> dict[str, Any]:
    """A page of tasks: the attempts at each, and how it went by model and by step."""
    first = asked.whole("task", 1, most=10**9)
    limit = asked.whole("tasks", _TASKS, most=_MOST_TASKS)
    search, status = asked.one("find").strip(), asked.one("state")
    part = Window(limit=limit, skip=first - 1)
    listed = metrics.eval_tasks(asked.services, asked.principal, found.group_id, part=part, search=search or None, status=status or None)
    ids = [task.task_id for task in listed.tasks]
    attempts = listing.attempts(asked.services, asked.principal, found.group_id, task_ids=ids)
    crossed = _crossed(asked, found, ids)
    rows = [
        {
            "task_id": task.task_id,
            "status": task.status,
            "jobs": task.jobs,
            "passed": task.pass_rate.numerator,
            "attempts": task.pass_rate.denominator,
            "cells": [_cell(row) for row in attempts[task.task_id]],
            "by": [_rate(crossed["values"].get((task.task_id, value))) for value in crossed["columns"]],
            "url": with_query(path_of("groups", found.group_id, "jobs"), (("task_id", task.task_id),)),
        }
        for task in listed.tasks
    ]
    more = first - 1 + len(rows) < listed.total
    return {
        "tasks": rows,
        "tasks_total": listed.total,
        "tasks_first": first,
        "tasks_next": with_query(asked.path, changed(asked.query, task=first + limit)) + "#tasks" if more else None,
        "tasks_before": with_query(asked.path, changed(asked.query, task=max(1, first - limit))) + "#tasks" if first > 1 else None,
        "cross": {"name": crossed["name"], "columns": crossed["columns"]},
        "find": search,
        "state": status,
    }


def _crossed(asked: Asked, found: Group, ids: Sequence[str]) -> dict[str, Any]:
    """The fact that divides the jobs best into few columns: steps where there are several, else models."""
    if not ids:
        return {"name": None, "columns": [], "values": {}}
    if len(found.steps) > 1:
        columns: list[Any] = list(found.steps[-_TAGS:])
        name = "step"
    else:
        name = "model"
        values = listing.facet(asked.services, asked.principal, JobQuery(group_id=found.group_id), "model").values
        columns = [value for value, _ in values[:_TAGS] if value is not None]
    if len(columns) < 2:
        return {"name": None, "columns": [], "values": {}}
    values_by = listing.crossed(asked.services, asked.principal, found.group_id, name, task_ids=ids)
    return {"name": name, "columns": columns, "values": values_by}


def _rate(pair: tuple[int, int] | None) -> dict[str, int] | None:
    return None if pair is None else {"attempts": pair[0], "passed": pair[1]}


def _cell(row: Any) -> dict[str, Any]:
    facts = {
        name: getattr(row, name) for name in ("job_id", "step", "attempt", "outcome", "reward", "fail_reason", "sub_fail_reason", "model")
    }
    shown = "unfinished" if row.outcome is None else "invalid" if row.reward_valid is False else row.outcome
    return {**facts, "shown": shown, "sign": REASON_SIGNS.get(row.fail_reason or "", ""), "url": path_of("jobs", row.job_id)}


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """Another text after every change that the page would show."""

    version: str


def version(asked: Asked) -> Version:
    """What a page that is open compares with the version it was drawn from."""
    group_id = asked.ids["group_id"]
    found = groups.get(asked.services, asked.principal, group_id)
    return Version(version=_version(found, reports.group_report(asked.services, asked.principal, group_id)))


def _version(found: Group, report: GroupReport) -> str:
    return f"{found.updated_at} {report.status} {report.reports[0].created_at if report.reports else ''}"


ROUTES: list[HTTPRouteHandler] = [page("/groups/{group_id:str}", group), page("/groups/{group_id:str}/version", version)]
