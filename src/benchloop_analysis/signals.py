"""What is counted in one job for the sake of its group: errors that read alike, and distortions of calls that point at the harness."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from benchloop_analysis import evidence
from benchloop_analysis.case import Case
from benchloop_analysis.outputs import is_empty
from benchloop_analysis.records import Event, Signal, Signature
from benchloop_analysis.ruleset import SignalRule

_STEPS = 20
_SIGNATURES = 50
#: Of arguments, as much as this is looked at.
_ARGUMENTS = 20_000
_encode = msgspec.json.Encoder().encode


def signatures(case: Case) -> tuple[Signature, ...]:
    """The job's errors by tool, class and template, the costliest first, at most 50."""
    found: dict[tuple[str, str, str], list[Event]] = {}
    for event in case.calls:
        if event.is_error:
            found.setdefault((event.tool or "", event.error_class or "", event.signature or ""), []).append(event)
    made = [_signature(key, events) for key, events in found.items()]
    return tuple(sorted(made, key=lambda one: (-(one.seconds or 0.0), -one.count))[:_SIGNATURES])


def _signature(key: tuple[str, str, str], events: list[Event]) -> Signature:
    times = [event.seconds for event in events if event.seconds is not None]
    shown = events[0]
    example = evidence.of_output("error-signature", shown) if (shown.output or "").strip() else evidence.of_call("error-signature", shown)
    return Signature(
        tool=key[0],
        error_class=key[1],
        template=key[2],
        count=len(events),
        steps=tuple(dict.fromkeys(event.step_id for event in events))[:_STEPS],
        seconds=sum(times) if times else None,
        example=example,
    )


def signals(case: Case, rules: tuple[SignalRule, ...]) -> tuple[Signal, ...]:
    """Every signal of the rules that was seen in the job at all, for each tool apart."""
    return tuple(signal for rule in rules for signal in _signals(case, rule))


def _signals(case: Case, rule: SignalRule) -> Iterator[Signal]:
    if rule.of == "last":
        last = case.last_agent
        if last is not None:
            empty = last.tool is None and not last.text.strip()
            example = evidence.of_step(rule.name, last) if empty else None
            yield Signal(name=rule.name, subject="", hits=int(empty), of=1, example=example)
        return
    calls: dict[str, list[Event]] = {}
    for event in case.calls:
        if rule.command is None or event.command is not None:
            calls.setdefault(event.tool or "", []).append(event)
    for tool, events in calls.items():
        hits = [event for event in events if _hit(event, rule)]
        if hits:
            silent = sum(is_empty(event.output, case.tables.errors) for event in events)
            silent_hits = sum(is_empty(event.output, case.tables.errors) for event in hits)
            yield Signal(
                name=rule.name,
                subject=tool,
                hits=len(hits),
                of=len(events),
                silent_hits=silent_hits,
                silent_others=silent - silent_hits,
                example=evidence.of_call(rule.name, hits[0]),
            )


def _hit(event: Event, rule: SignalRule) -> bool:
    if rule.command is not None:
        return re.search(rule.command, event.command or "") is not None
    return (
        rule.arguments is not None
        and re.search(rule.arguments, _encode(event.arguments)[:_ARGUMENTS].decode("utf-8", "ignore")) is not None
    )
