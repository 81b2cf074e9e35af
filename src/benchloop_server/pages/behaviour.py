"""Behaviour of a group: tasks, the form that starts one, how far it is, and what it found with examples beside counter-examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from benchloop_analysis import figures
from benchloop_analysis.brm.records import Example, Pattern, Study
from benchloop_client.contract.analysis import (
    LARGEST,
    MAX_STEPS,
    SAMPLE_SIZE,
    SCORING_LIMIT,
    SUCCEEDED,
    UNFINISHED,
    BehaviorAnalysis,
    BehaviorTask,
    BehaviorTaskCreate,
)
from benchloop_server.features.behaviour import service as behaviour
from benchloop_server.features.trajectories import steps as stored
from benchloop_server.features.trajectories.service import Absent
from benchloop_server.kit.errors import DomainError, not_found, unprocessable
from benchloop_server.pages import formatting, viewer
from benchloop_server.pages import steps as drawing
from benchloop_server.pages.page import Asked, Crumb, Done, Page, command, path_of
from benchloop_server.pages.routing import action, page
from benchloop_server.pages.steps import Shown

_LIVE = 3
_EXAMPLES, _CITED = 6, 12
_STATUSES = {
    "supported": ("●", "q is at most 0.10: it goes with reward within the same task"),
    "suggestive": ("◐", "p is below 0.05, but not after allowing for how many behaviours were looked at"),
    "no_evidence": ("○", "Enough tasks could have told, and do not"),
    "insufficient": ("◌", "Too few tasks could tell: no evidence is no evidence of none"),
    "not_applicable": ("–", "There is nothing to compare"),
}


class News(msgspec.Struct, frozen=True):
    """Another `version` for another state."""

    version: str


class Started(msgspec.Struct, frozen=True):
    """The form that starts a task; numbers arrive as texts."""

    steps: list[str] = []
    sample_size: str = ""
    scoring_limit: str = ""


def tasks(asked: Asked) -> Page:
    """All behaviour tasks of a group, and the form that starts one."""
    group_id = asked.ids["group_id"]
    known = behaviour.steps(asked.services, asked.principal, group_id)
    found = behaviour.listed(asked.services, asked.principal, group_id)
    live = any(task.status in UNFINISHED for task in found.tasks)
    return Page(
        template="behaviour.html",
        title="Behaviour",
        line="Which behaviour goes with reward, compared between attempts at the same task",
        crumbs=_crumbs(group_id),
        data={
            "group_id": group_id,
            "tasks": [{"task": task, "url": path_of("groups", group_id, "behaviour", task.uid)} for task in found.tasks],
            "steps": known.steps,
            "mode": known.sampling_mode,
            "chosen": known.steps[-MAX_STEPS:],
            "most_steps": MAX_STEPS,
            "sample_size": SAMPLE_SIZE,
            "scoring_limit": SCORING_LIMIT,
        },
        commands=[command("brm", "list", "-g", group_id), command("brm", "run", "-g", group_id, "--wait")],
        routes=[f"/openapi/behavior/tasks?group_id={group_id}"],
        live=_LIVE if live else None,
        news=(path_of("groups", group_id, "behaviour", "news"), _version(found.tasks)) if live else None,
    )


def news(asked: Asked) -> News:
    """Whether the list is to be drawn anew."""
    return News(_version(behaviour.listed(asked.services, asked.principal, asked.ids["group_id"]).tasks))


def start(asked: Asked) -> Done:
    """Ask for a task. Equal wishes over equal data are one task."""
    group_id, form = asked.ids["group_id"], asked.sent(Started)
    wish = BehaviorTaskCreate(
        group_id=group_id,
        steps=[_whole("step", step) or 0 for step in form.steps],
        sample_size=_whole("jobs of each step", form.sample_size),
        scoring_limit=_whole("patterns", form.scoring_limit) or SCORING_LIMIT,
    )
    made = behaviour.create(asked.services, asked.principal, wish)
    return Done(location=path_of("groups", group_id, "behaviour", made.uid))


def cancel(asked: Asked) -> Done:
    """End a task that has not ended."""
    task = _task(asked)
    behaviour.cancel(asked.services, asked.principal, task.uid)
    return Done(location=path_of("groups", task.group_id, "behaviour", task.uid))


def study(asked: Asked) -> Page:
    """One task: how far it is, then what it found."""
    task = _task(asked)
    analysis = behaviour.analysis(asked.services, asked.principal, task.uid)
    found = study_of(analysis)
    live = task.status in UNFINISHED
    rows = [] if found is None else [_row(task, one) for one in found.behavior_patterns]
    data: dict[str, Any] = {
        "task": task,
        "study": found,
        "patterns": rows,
        "statuses": _STATUSES,
        "figures": {} if found is None else _figures(found, {row["pattern"].id: row["url"] for row in rows}),
    }
    return Page(
        template="behaviour-task.html",
        title="Behaviour and reward",
        line=found.summary.headline if found is not None else _about(task),
        crumbs=(*_crumbs(task.group_id, linked=True), Crumb(task.uid)),
        data=data,
        commands=[command("brm", "get", "--task-id", task.uid, scope="detail")],
        routes=[f"/openapi/behavior/tasks/{task.uid}/analysis"],
        charts=found is not None,
        live=_LIVE if live else None,
        news=(path_of("groups", task.group_id, "behaviour", task.uid, "news"), _version([task])) if live else None,
    )


def study_news(asked: Asked) -> News:
    """Whether the page of a task is to be drawn anew."""
    return News(_version([_task(asked)]))


def pattern(asked: Asked) -> Page:
    """One behaviour: what it is, its numbers, and jobs that show it beside jobs at the same task that do not."""
    task = _task(asked)
    found = study_of(behaviour.analysis(asked.services, asked.principal, task.uid))
    patterns = found.behavior_patterns if found is not None else ()
    one = next((each for each in patterns if each.id == asked.ids["pattern_id"]), None)
    if one is None:
        raise not_found("behaviour", asked.ids["pattern_id"][:80])
    return Page(
        template="behaviour-pattern.html",
        title=one.name.replace("_", " "),
        line=one.definition,
        crumbs=(
            *_crumbs(task.group_id, linked=True),
            Crumb(task.uid, path_of("groups", task.group_id, "behaviour", task.uid)),
            Crumb(one.name.replace("_", " ")),
        ),
        data={
            "pattern": one,
            "status": (one.status, *_STATUSES[one.status]),
            "pairs": _pairs(asked, one),
            "group_id": task.group_id,
        },
        commands=[command("brm", "get", "--task-id", task.uid, scope="detail")],
        routes=[f"/openapi/behavior/tasks/{task.uid}/analysis"],
    )


def study_of(analysis: BehaviorAnalysis) -> Study | None:
    """The result as the analysis knows it; None while there is none."""
    if analysis.status != SUCCEEDED or analysis.summary_data is None:
        return None
    parts = {
        "summary": analysis.summary_data,
        "category_scores": analysis.category_scores,
        "behavior_patterns": analysis.behavior_patterns,
        "patterns_total": analysis.patterns_total,
        "model": analysis.model,
        "steps": analysis.steps,
        "provenance": analysis.provenance,
    }
    return msgspec.convert(parts, Study)


def _figures(found: Study, urls: Mapping[str, str]) -> dict[str, Any]:
    """Name → figure, of those that have something to show; their titles stand above them as text."""
    made = {
        "forest": _linked(figures.forest(found), urls),
        "categories": _panels(figures.category_bars(found), found),
        "heat": figures.heat_map(found),
        "curves": figures.step_curves(found),
    }
    return {name: _untitled(figure) for name, figure in made.items() if figure["data"]}


def _linked(figure: Mapping[str, Any], urls: Mapping[str, str]) -> dict[str, Any]:
    """Marks lead to the page of their behaviour."""
    return {**figure, "data": [{**trace, "customdata": [urls.get(name) for name in trace["customdata"]]} for trace in figure["data"]]}


def _panels(figure: Mapping[str, Any], found: Study) -> Mapping[str, Any]:
    """One panel where no category has an impact that could be told."""
    if not figure["data"] or any(score.impact is not None for score in found.category_scores):
        return figure
    layout = {name: value for name, value in figure["layout"].items() if name != "xaxis2"}
    return {"data": figure["data"][:1], "layout": {**layout, "xaxis": {**layout["xaxis"], "domain": [0, 1]}}}


def _untitled(figure: Mapping[str, Any]) -> dict[str, Any]:
    layout = {name: value for name, value in figure["layout"].items() if name != "title"}
    if layout.get("legend", {}).get("orientation") == "h":
        layout["legend"] = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"}
    return {"data": figure["data"], "layout": layout, "title": figure["layout"]["title"]["text"]}


def _row(task: BehaviorTask, one: Pattern) -> dict[str, Any]:
    """A behaviour as the table lists it."""
    return {
        "pattern": one,
        "sign": _STATUSES[one.status][0],
        "url": path_of("groups", task.group_id, "behaviour", task.uid, "patterns", one.id),
        "examples": len(one.examples),
    }


def _pairs(asked: Asked, one: Pattern) -> list[dict[str, Any]]:
    """Examples, each with a counter-example at the same task where there is one; what is left stands alone."""
    others = list(one.counter_examples)
    pairs: list[tuple[Example | None, Example | None]] = []
    for example in one.examples[:_EXAMPLES]:
        beside = next((other for other in others if other.task == example.task), None)
        if beside is not None:
            others.remove(beside)
        pairs.append((example, beside))
    pairs += [(None, other) for other in others[: max(0, _EXAMPLES - len(pairs))]]
    return [
        {"task": (left or right).task, "example": _example(asked, left), "counter": _example(asked, right)}  # type: ignore[union-attr]
        for left, right in pairs
    ]


def _example(asked: Asked, one: Example | None) -> dict[str, Any] | None:
    if one is None:
        return None
    links = [{"step": step, "url": viewer.step_url(one.job, step)} for step in one.steps[:_CITED]]
    return {
        "job_id": one.job,
        "url": path_of("jobs", one.job),
        "outcome": {"pass": "passed", "fail": "failed"}[one.outcome],
        "reward": one.reward,
        "steps": links,
        "left": max(0, len(one.steps) - _CITED),
        "shown": _first_step(asked, one.job, one.steps),
    }


def _first_step(asked: Asked, job_id: str, steps: Sequence[int]) -> Shown | None:
    """The first cited step as it is now; None where the job or the step is gone since."""
    if not steps:
        return None
    try:
        opened = stored.opened(asked.services, asked.principal, job_id)
    except DomainError:
        return None
    number = None if isinstance(opened, Absent) else opened.number_of(steps[0])
    if isinstance(opened, Absent) or number is None:
        return None
    (raw,) = stored.read(asked.services.blobs, opened, number, number)
    return drawing.step(raw, number, most=1_500)


def _task(asked: Asked) -> BehaviorTask:
    task = behaviour.get(asked.services, asked.principal, asked.ids["uid"])
    if task.group_id != asked.ids["group_id"]:
        raise not_found("behaviour task", asked.ids["uid"][:80])
    return task


def _version(some: Sequence[BehaviorTask]) -> str:
    return " ".join(f"{task.uid}{task.status}{task.progress.done}" for task in some if task.status in UNFINISHED) + f" {len(some)}"


def _about(task: BehaviorTask) -> str:
    if task.sampling_mode == "all_jobs":
        return "All jobs of the group"
    return f"Steps {', '.join(map(str, task.steps))}, up to {formatting.number(task.sample_size)} jobs of each"


def _whole(name: str, text: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= len(text) <= len(str(LARGEST)) + 9):
        raise unprocessable(f"{name}: {text[:40]!r} is no whole number")
    return int(text)


def _crumbs(group_id: str, *, linked: bool = False) -> tuple[Crumb, ...]:
    own = path_of("groups", group_id, "behaviour") if linked else None
    return (Crumb("Groups", "/groups"), Crumb(group_id, path_of("groups", group_id)), Crumb("Behaviour", own))


ROUTES: list[HTTPRouteHandler] = [
    page("/groups/{group_id:str}/behaviour", tasks),
    page("/groups/{group_id:str}/behaviour/news", news),
    page("/groups/{group_id:str}/behaviour/{uid:str}", study),
    page("/groups/{group_id:str}/behaviour/{uid:str}/news", study_news),
    page("/groups/{group_id:str}/behaviour/{uid:str}/patterns/{pattern_id:str}", pattern),
    action("/groups/{group_id:str}/behaviour", start),
    action("/groups/{group_id:str}/behaviour/{uid:str}/cancel", cancel),
]
