"""Figures of pages as plotly takes them: plain dictionaries whose colours are names of `tokens.css` (`var:accent`). Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchloop_analysis.wilson import wilson
from benchloop_client.contract.summaries import StepSummary
from benchloop_server.features.listing.service import Spread
from benchloop_server.pages import formatting

Figure = dict[str, Any]
#: The sides of a fault, in the order in which every chart names them.
SIDES = ("model", "harness", "environment", "model_api", "grader", "task", "unknown")
#: Seconds that are round on a clock.
_CLOCK = (2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800)


def histogram(spread: Spread, *, label: str, url: Mapping[tuple[float, float], str]) -> Figure:
    """Bars of equal width over a fact's values; each leads to the jobs in it."""
    bars = spread.bars
    word = {"duration": formatting.duration, "cost_usd": formatting.money}.get(spread.name, formatting.count)
    trace = {
        "type": "bar",
        "x": [(low + high) / 2 for low, high, _ in bars],
        "y": [number for _, _, number in bars],
        "width": [(high - low) * 0.94 for low, high, _ in bars],
        "marker": {"color": "var:accent"},
        "customdata": [url.get((low, high)) for low, high, _ in bars],
        "text": [f"{word(low)} to {word(high)}: {number} jobs" for low, high, number in bars],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }
    ticks = _ticks(bars[0][0], bars[-1][1], timed=spread.name == "duration") if bars else []
    xaxis = {"title": {"text": label}, "tickvals": ticks, "ticktext": [word(tick) for tick in ticks], "showgrid": False}
    return {
        "data": [trace],
        "layout": {"height": 240, "bargap": 0, "xaxis": xaxis, "yaxis": {"title": {"text": "jobs"}, "rangemode": "tozero"}},
    }


def steps(rows: Sequence[StepSummary]) -> Figure:
    """Pass rate over training steps with 95 % Wilson bars, and mean reward."""
    known = [row for row in rows if row.step is not None and row.pass_rate.denominator]
    ranges = [wilson(row.pass_rate.numerator, row.pass_rate.denominator) or (0.0, 0.0) for row in known]
    rates = [row.pass_rate.value or 0.0 for row in known]
    passes = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "pass rate",
        "x": [row.step for row in known],
        "y": [100 * rate for rate in rates],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [100 * (high - rate) for rate, (_, high) in zip(rates, ranges, strict=True)],
            "arrayminus": [100 * (rate - low) for rate, (low, _) in zip(rates, ranges, strict=True)],
            "color": "var:rule-strong",
            "thickness": 1.5,
            "width": 4,
        },
        "line": {"color": "var:accent", "width": 2},
        "marker": {"color": "var:accent", "size": 7},
        "text": [f"step {row.step}: {formatting.rate(row.pass_rate.numerator, row.pass_rate.denominator)}" for row in known],
        "hovertemplate": "%{text}<extra></extra>",
    }
    xaxis = {"title": {"text": "training step"}, "tickvals": [row.step for row in known] if len(known) <= 12 else None, "showgrid": False}
    return {"data": [passes], "layout": {"height": 300, "xaxis": xaxis, "yaxis": {"title": {"text": "passed, %"}, "range": [0, 103]}}}


def treemap(reasons: Sequence[Mapping[str, Any]], *, failed: int, url: Mapping[tuple[str, str], str]) -> Figure:
    """Reasons and sub-reasons by how many failed jobs each has; the colour is the side of the fault."""
    ids, labels, parents, values, colours, texts, targets = ([] for _ in range(7))
    for reason in reasons:
        name, share = reason["fail_reason"], reason["share"]
        side = max(reason["fault_sides"] or {"unknown": 1}, key=lambda each: (reason["fault_sides"] or {"unknown": 1})[each])
        rows = [("", name, share, url.get((name, "")))]
        rows += [(name, sub["sub_fail_reason"], sub["share"], url.get((name, sub["sub_fail_reason"]))) for sub in reason["subs"]]
        for parent, label, each, target in rows:
            ids.append(f"{parent}/{label}")
            labels.append(_plain(label))
            parents.append(f"/{parent}" if parent else "")
            values.append(each["count"])
            colours.append(f"var:side-{side if side in SIDES else 'unknown'}")
            texts.append(f"{formatting.rate(each['count'], failed)}<br>fault: {_plain(side.replace('_', ' '))}")
            targets.append(target)
    trace = {
        "type": "treemap",
        "ids": ids,
        "labels": labels,
        "parents": parents,
        "values": values,
        "branchvalues": "total",
        "marker": {"colors": colours, "line": {"color": "var:ground", "width": 2}, "pad": {"t": 22, "l": 3, "r": 3, "b": 3}},
        "textinfo": "label+value",
        "customdata": targets,
        "text": texts,
        "hovertemplate": "%{label}<br>%{text}<extra></extra>",
        "textfont": {"color": "#10151b", "size": 12},
        "pathbar": {"visible": False},
        "tiling": {"pad": 2},
    }
    return {
        "data": [trace],
        "layout": {"height": 360, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}, "uniformtext": {"minsize": 10, "mode": "hide"}},
    }


def diverging(rows: Sequence[tuple[str, int, int]], *, a: str, b: str) -> Figure:
    """Reasons of two sides: those of A to the left, those of B to the right."""
    names = [_plain(name) for name, _, _ in rows][::-1]
    most = max((max(left, right) for _, left, right in rows), default=1)
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": label,
            "y": names,
            "x": [sign * (right if take else left) for _, left, right in rows][::-1],
            "marker": {"color": colour},
            "text": [str(right if take else left) for _, left, right in rows][::-1],
            "textposition": "outside",
            "cliponaxis": False,
            "hovertemplate": f"%{{y}}: %{{text}} jobs of {label}<extra></extra>",
        }
        for sign, take, label, colour in ((-1, False, a, "var:side-harness"), (1, True, b, "var:side-grader"))
    ]
    limit = most * 1.15 + 1
    ticks = _ticks(-most, most)
    xaxis = {
        "title": {"text": f"failed jobs: {a} to the left, {b} to the right"},
        "range": [-limit, limit],
        "tickvals": ticks,
        "ticktext": [formatting.number(abs(tick)) for tick in ticks],
    }
    return {
        "data": traces,
        "layout": {"height": 80 + 30 * len(rows), "barmode": "relative", "bargap": 0.35, "xaxis": xaxis, "yaxis": {"showgrid": False}},
    }


def _plain(text: str) -> str:
    """A text as itself: plotly would read marks and links in it."""
    return formatting.shown(text).replace("&", "&amp;").replace("<", "&lt;")


def _ticks(low: float, high: float, *, timed: bool = False) -> list[float]:
    """About six round places between two ends; of seconds those that a clock knows."""
    if high <= low:
        return [low]
    rough = (high - low) / 6
    clock = [step for step in _CLOCK if step >= rough] if timed and rough > 1 else []
    unit = 10.0 ** math.floor(math.log10(rough))
    width = clock[0] if clock else next(unit * step for step in (1, 2, 5, 10) if unit * step >= rough * (1 - 1e-9))
    return [width * number for number in range(math.ceil(low / width), math.floor(high / width) + 1)]
