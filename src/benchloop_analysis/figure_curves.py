"""Training curves with their bands, and a mark where the tasks changed."""

from __future__ import annotations

from typing import Any

from benchloop_analysis.brm.records import Curve, StepPoint, Study
from benchloop_analysis.figure_parts import Figure, axis, figure, text

#: Behaviours that are drawn: those that change most surely.
MOST = 6
#: Line → band: what is seen through has to be written out, and is faint enough for a light and a dark ground.
_COLOURS = {
    "phase-E": "rgba(0,114,178,0.13)",
    "phase-I": "rgba(230,159,0,0.13)",
    "phase-V": "rgba(0,158,115,0.13)",
    "side-model": "rgba(213,94,0,0.13)",
    "side-model_api": "rgba(204,121,167,0.13)",
    "side-task": "rgba(86,180,233,0.13)",
}
_GREY = "rgba(138,144,151,0.18)"


def step_curves(study: Study) -> Figure:
    """Mean reward and up to six behaviours over training steps on the tasks that all of them have; empty without such."""
    steps = study.steps
    title = f"Over training steps, on the {steps.common_tasks:,} tasks that all of them have"
    if steps.reward is None:
        return figure([], title)
    ranked = sorted(steps.curves, key=lambda curve: (1.0 if curve.q is None else curve.q, 1.0 if curve.p is None else curve.p, curve.id))
    data = _drawn(steps.reward, "text")
    for curve, colour in zip(ranked[:MOST], _COLOURS, strict=False):
        data += _drawn(curve, colour)
    return figure(
        data,
        title,
        height=420,
        xaxis=axis("training step"),
        yaxis=axis("share of jobs, mean reward", rangemode="tozero"),
        showlegend=True,
        shapes=[_changed(point) for point in steps.points if point.mix_changed],
        margin={"r": 24},
    )


def _drawn(curve: Curve, colour: str) -> list[dict[str, Any]]:
    """The band, one edge and then the other, and the line on it."""
    x = [point.step for point in curve.points]
    edge = {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": curve.id,
    }
    fill = {"fill": "tonexty", "fillcolor": _COLOURS.get(colour, _GREY)}
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": text(curve.name),
        "legendgroup": curve.id,
        "x": x,
        "y": [point.value for point in curve.points],
        "line": {"color": f"var:{colour}", "dash": "dot" if curve.id == "reward" else "solid"},
        "customdata": [curve.id] * len(x),
        "hovertext": [f"n {point.n:,}" for point in curve.points],
    }
    low, high = [point.low for point in curve.points], [point.high for point in curve.points]
    return [{**edge, "y": low}, {**edge, **fill, "y": high}, line]


def _changed(point: StepPoint) -> dict[str, Any]:
    line = {"color": "var:rule-strong", "dash": "dash", "width": 1}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": point.step, "x1": point.step, "y0": 0, "y1": 1, "line": line}
