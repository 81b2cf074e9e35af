"""Behaviours of planning: whether the agent says what it is going to do, keeps to it, and keeps the task in mind."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby, islice

from benchloop_analysis.behaviours.acts import Act, spoken
from benchloop_analysis.behaviours.naming import edges
from benchloop_analysis.behaviours.view import Found, Run, View, binary, truth

_FIRST = 3
_ITEMS = 3
_TERMS = 3
_MOST_TERMS = 80
_RETURNS = 2
_PLAN_TOOL = re.compile(r"plan|todo(?!read)|task_?(?:create|update|tracker)", re.IGNORECASE)
_CUE = re.compile(
    r"\b(?:plan|steps|approach|strategy|to-?do)\b|\bi(?:'ll| will| need to| should| am going to|'m going to)\b", re.IGNORECASE
)
_ASKED = re.compile(r"\b(?:you|your|please|following (?:details|information))\b", re.IGNORECASE)
_NEAR = 160
_ITEM = re.compile(r"^[ \t]*(?:\d{1,2}[.)]|[-*•]|step \d+:?|\[[ x]\])[ \t]+\S", re.MULTILINE | re.IGNORECASE)
_TERM = re.compile(r"[\w.-]{3,}\w")
_TEXT = 20_000


def explicit_plan(view: View) -> Found | None:
    """P1."""
    if not view.acts:
        return None
    shown = view.run.once(_first_plan)
    return binary([shown] if shown is not None and shown.place < view.end else [])


def _first_plan(run: Run) -> Act | None:
    first = run.view(_FIRST).acts
    return next((act for act in first if _is_plan(act.event.tool) or _lists(act)), None)


def _is_plan(tool: str | None) -> bool:
    return tool is not None and _PLAN_TOOL.search(tool) is not None


def _lists(act: Act) -> bool:
    event = act.event
    thoughts = [value for value in event.arguments.values() if isinstance(value, str)] if event.kind == "plan" else []
    return any(_is_list(text[:_TEXT]) for text in (spoken(event), event.thinking, *thoughts) if len(text) > 20)


def _is_list(text: str) -> bool:
    """Whether a text lists what its author is going to do: items behind words such as plan, steps or "I need to", not asked of the user."""
    items = list(_ITEM.finditer(text))
    if len(items) < _ITEMS:
        return False
    before = text[max(0, items[0].start() - _NEAR) : items[0].start()]
    return _CUE.search(before) is not None and _ASKED.search(before) is None


def plan_updated(view: View) -> Found | None:
    """P2."""
    plans = view.which(_plans)
    if not plans:
        return None
    states = [next(same) for _, same in groupby(plans, key=_state)]
    return truth(len(states) > 2, states)


def _state(act: Act) -> str:
    """The state of a plan. Where each task is created by a call of its own, these calls together write one plan."""
    return "create" if "create" in (act.event.tool or "").lower() else act.event.key


def _plans(run: Run, act: Act) -> bool:
    return bool(act.event.arguments) and _is_plan(act.event.tool)


def goal_restated_late(view: View) -> Found | None:
    """P3."""
    terms = rare_terms(view.run.instruction)
    if len(terms) < _TERMS or not view.has_words:
        return None
    begin = view.turns - max(1, view.turns // 3)
    said = "\n".join(view.run.said[begin : view.turns])[-5 * _TEXT :]
    hits = 0
    for term in terms:
        hits += term in said
        if hits == _TERMS:
            return Found(1.0, [act for act in view.acts[view.run.starts[begin] :] if act.event.thinking or spoken(act.event)][-1:])
    return Found(0.0, view.acts[-1:])


def rare_terms(instruction: str) -> list[str]:
    """At most 80 words of a task, in lower case, that are rare: of 9 letters or more, or with a digit, point or sign inside."""
    counted = Counter(_TERM.findall(edges(instruction).lower()))
    rare = (word for word, count in counted.items() if count <= 2 and (len(word) >= 9 or not word.isalpha()))
    return list(islice(rare, _MOST_TERMS))


def phase_order_kept(view: View) -> Found | None:
    """P4."""
    if view.first_edit is None:
        return None
    order = "".join(phase for phase, _ in groupby(act.event.phase for act in view.calls if act.event.phase != "O"))
    change = order.find("I")
    kept = order.startswith("E") and change > 0 and "V" in order[change:] and order.count("E", change) <= _RETURNS
    return truth(kept, [view.first_edit, *view.checks[:1]])
