"""What all figures share: the colours by their names in the pages, axes, and text that plotly cannot take for markup."""

from __future__ import annotations

from typing import Any, TypeAlias

from benchloop_analysis.markdown import shortened, visible

Figure: TypeAlias = dict[str, Any]

#: Name in the pages' `tokens.css` → the light colour, for who draws a figure outside of them. A figure says `var:accent`.
COLOURS = {
    "ground": "#ffffff",
    "rule": "#d9dcdf",
    "rule-strong": "#8a9097",
    "text": "#1b1e21",
    "text-2": "#565c63",
    "accent": "#1a5fb4",
    "passed-fill": "#3aa787",
    "failed-fill": "#d9733a",
    "phase-E": "#0072b2",
    "phase-I": "#e69f00",
    "phase-V": "#009e73",
    "phase-O": "#8a9097",
    "side-model": "#d55e00",
    "side-model_api": "#cc79a7",
    "side-task": "#56b4e9",
}
LONGEST = 60
ROW_HEIGHT = 24


def text(value: str) -> str:
    """Any text as a label: one line, shortened, nothing in it is markup."""
    shown = visible(shortened(value, LONGEST))
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its title and unit."""
    return {"title": {"text": title}, "automargin": True, **more}


def figure(data: list[dict[str, Any]], title: str, **layout: Any) -> Figure:
    """A figure. Its title is also what a screen reader is told."""
    return {"data": data, "layout": {"title": {"text": title, "x": 0, "xanchor": "left"}, "showlegend": False, **layout}}


def resolved(value: Any, colours: dict[str, str] | None = None) -> Any:
    """The figure with its colours written out, to be drawn outside of the pages: in a notebook, or in a page of its own."""
    known = COLOURS if colours is None else colours
    if isinstance(value, str):
        return known.get(value[4:], COLOURS["text"]) if value.startswith("var:") else value
    if isinstance(value, list | tuple):
        return [resolved(each, known) for each in value]
    if isinstance(value, dict):
        return {name: resolved(each, known) for name, each in value.items()}
    return value


def percent(value: float | None) -> str:
    """A share in a label."""
    return "–" if value is None else f"{100 * value:.0f} %"
