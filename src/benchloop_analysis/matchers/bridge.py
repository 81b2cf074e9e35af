"""Matchers of what lies between the model and its tools, as far as one job shows it: calls that arrive distorted."""

from __future__ import annotations

import re

from benchloop_analysis import evidence, outputs
from benchloop_analysis.case import Case
from benchloop_analysis.matchers.registry import Finding, Params, matcher, one_of
from benchloop_analysis.records import Event


class BridgeParams(Params, frozen=True, kw_only=True):
    """`patterns`: how a distorted command begins; `share` of one tool's commands that begin so and return nothing; `at_least` many."""

    patterns: tuple[str, ...] = (r"\A\s*:(?:\s+[^\s>]|\s*\Z)",)
    share: float = 0.3
    at_least: int = 3


@matcher("distorted_calls", BridgeParams)
def distorted_calls(case: Case, rule_id: str, params: BridgeParams) -> Finding | None:
    """A good part of the commands of one tool begin in a way that keeps the shell from running them, and nothing came back."""
    pattern = one_of(params.patterns, 0)
    assert pattern is not None
    by_tool: dict[str, list[Event]] = {}
    for event in case.calls:
        if event.command is not None:
            by_tool.setdefault(event.tool or "", []).append(event)
    for tool, events in by_tool.items():
        hits = [event for event in events if _distorted(case, event, pattern)]
        if len(hits) >= max(params.at_least, params.share * len(events)):
            values = {"times": str(len(hits)), "calls": str(len(events)), "tool": tool}
            return Finding(evidence=tuple(evidence.of_call(rule_id, event) for event in (hits[0], hits[-1])), values=values)
    return None


def _distorted(case: Case, event: Event, pattern: re.Pattern[str]) -> bool:
    return pattern.search(event.command or "") is not None and outputs.is_empty(event.output, case.tables.errors)
