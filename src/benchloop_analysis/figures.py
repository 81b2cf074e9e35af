"""Figures of a study as plain plotly dictionaries: the server's pages, notebooks and a page of its own draw the same ones.

plotly.graph_objects.Figure(figures.resolved(figures.forest(study)))
"""

from __future__ import annotations

from typing import Any

from benchloop_analysis import words
from benchloop_analysis.brm.records import AMOUNT, CategoryScore, Interval, Pattern, Share, Study
from benchloop_analysis.figure_curves import step_curves
from benchloop_analysis.figure_page import page
from benchloop_analysis.figure_parts import ROW_HEIGHT, Figure, axis, figure, percent, resolved, text

__all__ = ["Figure", "all_of", "category_bars", "forest", "heat_map", "page", "resolved", "step_curves"]

#: Cells of the heat map with fewer jobs are hatched.
THIN = 8
#: Status → how its mark is filled, its colour, and what the legend says. Only what is supported is filled.
_MARKS = {
    "supported": ("circle", "var:accent", "supported"),
    "suggestive": ("circle-open", "var:accent", "suggestive"),
    "no_evidence": ("circle-open", "var:text-2", "no evidence"),
    "insufficient": ("circle-open", "var:rule-strong", "too few tasks to tell"),
}


def all_of(study: Study) -> list[Figure]:
    """Every figure that has something to show."""
    found = [forest(study), category_bars(study), heat_map(study), step_curves(study)]
    return [one for one in found if one["data"]]


def forest(study: Study) -> Figure:
    """A row a behaviour: the effect within the task with its interval, and as a hollow diamond the pooled one, to see the confounding."""
    rows = [one for one in study.behavior_patterns if one.within_task_rd is not None]
    scale, unit = _unit(study)
    data = [_pooled(rows, scale)] if rows else []
    data += [_within(rows, status, scale) for status in _MARKS if any(one.status == status for one in rows)]
    names = [_named(one) for one in rows]
    return figure(
        data,
        "Reward with a behaviour less without it, within the same task",
        height=120 + ROW_HEIGHT * max(1, len(rows)),
        xaxis=axis(f"difference in reward ({unit})", zeroline=True),
        yaxis=axis("", type="category", categoryorder="array", categoryarray=names[::-1]),
        showlegend=True,
        legend={"orientation": "h", "y": -0.12, "yanchor": "top"},
        margin={"r": 190},
        annotations=[_beside(one) for one in rows],
    )


def _unit(study: Study) -> tuple[float, str]:
    return (100.0, "points") if study.summary.outcome == "pass_fail" else (1.0, "reward")


def _named(one: Pattern) -> str:
    return text(one.name)


def _pooled(rows: list[Pattern], scale: float) -> dict[str, Any]:
    some = [one for one in rows if one.pooled_rd is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "pooled over tasks (misleads)",
        "x": [scale * (one.pooled_rd or 0.0) for one in some],
        "y": [_named(one) for one in some],
        "marker": {"symbol": "diamond-open", "size": 8, "color": "var:failed-fill", "line": {"width": 1.5}},
        "customdata": [one.id for one in some],
        "hovertext": [f"pooled {_measured(one.pooled_rd, one.pooled_ci, scale)}, n {one.applicable_n:,}" for one in some],
        "hoverinfo": "text+y",
    }


def _within(rows: list[Pattern], status: str, scale: float) -> dict[str, Any]:
    symbol, colour, says = _MARKS[status]
    some = [one for one in rows if one.status == status]
    middle = [scale * (one.within_task_rd or 0.0) for one in some]
    ends = [_ends(one.rd_ci, value, scale) for one, value in zip(some, middle, strict=True)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": says,
        "x": middle,
        "y": [_named(one) for one in some],
        "error_x": _errors(ends, colour),
        "marker": {"symbol": symbol, "size": 9, "color": colour, "line": {"width": 1.5, "color": colour}},
        "customdata": [one.id for one in some],
        "hovertext": [_told(one, scale) for one in some],
        "hoverinfo": "text+y",
    }


def _ends(interval: Interval | None, middle: float, scale: float) -> tuple[float, float]:
    """How far the interval reaches below and above; 0 where it has no end."""
    low = interval.low if interval is not None else None
    high = interval.high if interval is not None else None
    return (0.0 if low is None else max(0.0, middle - scale * low)), (0.0 if high is None else max(0.0, scale * high - middle))


def _errors(ends: list[tuple[float, float]], colour: str) -> dict[str, Any]:
    below, above = [low for low, _ in ends], [high for _, high in ends]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "color": colour, "thickness": 1.2, "width": 3}


def _told(one: Pattern, scale: float) -> str:
    q = "not tested" if one.q is None else f"q {one.q:.3f}"
    tasks = words.counted(one.informative_tasks, "task")
    return f"{_measured(one.within_task_rd, one.rd_ci, scale)}, {q}, {tasks} could tell, n {one.applicable_n:,}"


def _measured(value: float | None, interval: Interval | None, scale: float) -> str:
    if value is None:
        return "–"
    span = (
        ""
        if interval is None or interval.low is None or interval.high is None
        else f" ({scale * interval.low:.1f} to {scale * interval.high:.1f})"
    )
    return f"{scale * value:+.1f}{span}"


def _beside(one: Pattern) -> dict[str, Any]:
    """Columns at the right: how many of the passed and failed show it, and how many tasks could tell."""
    written = percent if one.measure == "binary" else _plain
    tasks = words.counted(one.informative_tasks, "task")
    shown = f"pass {written(one.prevalence_pass)} · fail {written(one.prevalence_fail)} · {tasks}"
    place = {"x": 1.01, "xref": "paper", "xanchor": "left", "y": _named(one), "yref": "y"}
    return {**place, "text": shown, "showarrow": False, "font": {"size": 11, "color": "var:text-2"}}


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def heat_map(study: Study) -> Figure:
    """Behaviours by agent and model, or by training step where these are all alike: how often each is shown, hatched below 8 jobs."""
    there = {share.part for one in study.behavior_patterns for share in one.parts}
    part = "model" if "model" in there else "step"
    some = [one for one in study.behavior_patterns if one.prevalence is not None and one.scored and one.kind != AMOUNT]
    rows = [(one, [share for share in one.parts if share.part == part]) for one in some]
    rows = [(one, shares) for one, shares in rows if shares]
    title = f"How often behaviours are shown, by {'agent and model' if part == 'model' else 'training step'}"
    if not rows:
        return figure([], title)
    return figure(
        [_cells(rows), _hatching(rows)],
        title,
        height=140 + ROW_HEIGHT * len(rows),
        xaxis=axis("agent and model" if part == "model" else "training step", type="category"),
        yaxis=axis("", type="category", autorange="reversed"),
    )


def _cells(rows: list[tuple[Pattern, list[Share]]]) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "x": [text(share.key) for share in rows[0][1]],
        "y": [_named(one) for one, _ in rows],
        "z": [[share.value for share in shares] for _, shares in rows],
        "text": [[percent(share.value) for share in shares] for _, shares in rows],
        "texttemplate": "%{text}",
        "hovertext": [[f"{percent(share.value)} of n {share.n:,}" for share in shares] for _, shares in rows],
        "hoverinfo": "text+x+y",
        "zmin": 0,
        "zmax": 1,
        "xgap": 1,
        "ygap": 1,
        "colorscale": [[0, "var:ground"], [1, "var:phase-E"]],
        "colorbar": {"title": {"text": "share of jobs"}, "tickformat": ".0%"},
    }


def _hatching(rows: list[tuple[Pattern, list[Share]]]) -> dict[str, Any]:
    thin = [(text(share.key), _named(one), share.n) for one, shares in rows for share in shares if share.n < THIN]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [x for x, _, _ in thin],
        "y": [y for _, y, _ in thin],
        "marker": {"symbol": "hash-open", "size": 16, "color": "var:rule-strong", "opacity": 0.6},
        "hovertext": [f"only n {n:,}" for _, _, n in thin],
        "hoverinfo": "text",
    }


def category_bars(study: Study) -> Figure:
    """Two panels, because they are two things: how well each category is practised, and what failed attempts lose by it."""
    scores = list(study.category_scores)
    scale, unit = _unit(study)
    names = [text(words.spelled(one.category)) for one in scores]
    data = [_practice(scores, names), _impact(scores, names, scale)] if scores else []
    return figure(
        data,
        "Practice and impact by category",
        height=140 + ROW_HEIGHT * max(1, len(scores)),
        yaxis=axis("", type="category", autorange="reversed"),
        xaxis=axis("practice (0–100)", domain=[0, 0.47], range=[0, 100]),
        xaxis2=axis(f"impact ({unit} of reward)", domain=[0.53, 1], zeroline=True),
    )


def _practice(scores: list[CategoryScore], names: list[str]) -> dict[str, Any]:
    values = [one.practice for one in scores]
    ends = [_ends(one.practice_ci, one.practice or 0.0, 1.0) for one in scores]
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": names,
        "marker": {"color": "var:phase-E"},
        "error_x": _errors(ends, "var:text-2"),
        "hovertext": [f"{words.counted(one.n_behaviors, 'behaviour')}" for one in scores],
        "hoverinfo": "text+x+y",
    }


def _impact(scores: list[CategoryScore], names: list[str], scale: float) -> dict[str, Any]:
    ends = [_ends(one.impact_ci, scale * (one.impact or 0.0), scale) for one in scores]
    filled = ["circle" if one.status == "supported" else "circle-open" for one in scores]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [None if one.impact is None else scale * one.impact for one in scores],
        "y": names,
        "xaxis": "x2",
        "marker": {"symbol": filled, "size": 9, "color": "var:accent"},
        "error_x": _errors(ends, "var:accent"),
        "hovertext": [one.status.replace("_", " ") for one in scores],
        "hoverinfo": "text+x+y",
    }
