"""Matchers of conversations: what the agent told somebody, and where a conversation that went wrong without a word began to act."""

from __future__ import annotations

import re

from benchloop_analysis import evidence
from benchloop_analysis.case import Case
from benchloop_analysis.matchers.registry import Finding, NoParams, Params, matcher, one_of
from benchloop_analysis.records import Event

#: Of one output, as much as numbers are looked up in.
_OUTPUT = 200_000
_DIGITS = re.compile(r"\d[\d,]*")


class CountParams(Params, frozen=True, kw_only=True):
    """`patterns`: how a count of things reads, its number as a group; `smallest` that counts, as small ones are counted by eye."""

    patterns: tuple[str, ...] = (
        (
            r"(?<![\w#.,/:$€£-])(\d{1,4}) "
            r"(?!business|hour|minute|second|day|week|month|year|percent|inch|feet|(?:am|pm|of|to|or|and|per|x)\b)[a-z]+"
        ),
    )
    smallest: int = 4


@matcher("count_without_source", CountParams)
def count_without_source(case: Case, rule_id: str, params: CountParams) -> Finding | None:
    """The agent told somebody a count that no earlier message, call or output holds: it counted by itself, or made it up."""
    found = unsourced(case, params)
    if found is None:
        return None
    event, match = found
    return Finding(evidence=(evidence.of_text(rule_id, event, match.start()),), values={"text": match.group()})


def unsourced(case: Case, params: CountParams | None = None) -> tuple[Event, re.Match[str]] | None:
    """The first count told without a source, and who told it where."""
    params = params or CountParams()
    pattern = one_of(params.patterns, 0)
    assert pattern is not None
    if not any(pattern.search(event.text) for event in case.agent_events if event.tool is None):
        return None
    known: set[str] = set()
    for event in case.events:
        if event.source == "agent" and event.tool is None:
            for match in pattern.finditer(event.text):
                number = next(filter(None, match.groups()), "")
                if number not in known and int(number) >= params.smallest:
                    return event, match
        for text in (event.text, (event.output or "")[:_OUTPUT], str(event.arguments) if event.tool else ""):
            known.update(number.replace(",", "") for number in _DIGITS.findall(text))
    return None


@matcher("first_act", NoParams)
def first_act(case: Case, rule_id: str, params: NoParams) -> Finding | None:
    """A conversation was graded low. The first call that changes something, or hands over to somebody else, is where to begin to read."""
    reward = case.facts.reward
    act = next((event for event in case.calls if event.kind in ("write", "delete", "ask")), None)
    if reward is None or act is None:
        return None
    found = (evidence.of_call(rule_id, act), evidence.of_fact(rule_id, case.facts, "reward"))
    return Finding(evidence=found, values={"reward": f"{reward:g}"})
