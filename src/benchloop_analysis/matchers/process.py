"""Matchers of the way an agent works: going in circles, talking without acting, stopping too early, not checking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from benchloop_analysis import evidence, outputs
from benchloop_analysis.case import Case
from benchloop_analysis.matchers.registry import Finding, NoParams, Params, matcher, one_of
from benchloop_analysis.records import Event, Evidence, Kind

#: Of last words, as much as this is read.
_WORDS = 20_000


class LoopParams(Params, frozen=True, kw_only=True):
    """`same`: equal calls with equal outputs (exact), with errors of one class (error), or two in turn (alternating); `at_least` in a row.

    `ignore`: kinds that do not count as work going in circles.
    """

    same: Literal["exact", "error", "alternating"]
    at_least: int
    ignore: frozenset[Kind] = frozenset()


@matcher("loop", LoopParams)
def loop(case: Case, rule_id: str, params: LoopParams) -> Finding | None:
    """The same call came again and again with the same result, or two calls in turn."""
    worst = max(_rows(case.calls, params), key=len, default=[])
    if len(worst) < params.at_least:
        return None
    cited = [worst[0], worst[1], worst[-1]] if params.same == "alternating" else [worst[0], worst[-1]]
    found: list[Evidence] = [evidence.of_call(rule_id, event) for event in cited]
    found += [evidence.of_output(rule_id, event) for event in cited[:1] if event.output and event.output.strip()]
    wasted = worst[2 if params.same == "alternating" else 1 :]
    return Finding(
        evidence=tuple(found),
        values={"times": str(len(worst)), "tool": worst[0].tool or "", "error": worst[0].error_class or ""},
        wasted_steps=len({event.step_id for event in wasted}),
        wasted_seconds=sum(event.seconds or 0.0 for event in wasted) or None,
    )


def _rows(calls: tuple[Event, ...], params: LoopParams) -> Iterator[list[Event]]:
    """Every longest row of calls that go on as the rule says."""
    lag = 2 if params.same == "alternating" else 1
    row: list[Event] = []
    for event in calls:
        if event.kind in params.ignore:
            continue
        if len(row) >= lag and not _repeats(row[-lag], event, params.same):
            yield row
            row = row[-1:] if lag == 2 else []
        if lag == 2 and len(row) == 1 and row[0].key == event.key:
            row = []
        if params.same != "error" or event.is_error:
            row.append(event)
    yield row


def _repeats(before: Event, event: Event, same: str) -> bool:
    if before.key != event.key:
        return False
    if same == "error":
        return event.is_error and before.error_class == event.error_class
    return before.output is not None and before.output_key == event.output_key


class MonologueParams(Params, frozen=True, kw_only=True):
    """`at_least` that many steps of words in a row, before the end."""

    at_least: int = 3


@matcher("monologue", MonologueParams)
def monologue(case: Case, rule_id: str, params: MonologueParams) -> Finding | None:
    """The agent spoke several times in a row without a call and without being answered, and not only at the end."""
    row: list[Event] = []
    worst: list[Event] = []
    for event in case.events:
        talks = event.source == "agent" and event.tool is None and bool(event.text.strip())
        row = [*row, event] if talks else []
        if len(row) > len(worst):
            worst = row
    if len(worst) < params.at_least or worst[-1] is case.last_agent:
        return None
    found = tuple(evidence.of_text(rule_id, event) for event in (worst[0], worst[-1]))
    return Finding(evidence=found, values={"times": str(len(worst))}, wasted_steps=len(worst) - 1)


class NoActionParams(Params, frozen=True, kw_only=True):
    """`only`: kinds that change nothing, so that a run of nothing else is no action."""

    only: frozenset[Kind] = frozenset({"read", "search", "list", "plan", "noop", "message", "ask", "submit"})


@matcher("no_action", NoActionParams)
def no_action(case: Case, rule_id: str, params: NoActionParams) -> Finding | None:
    """The agent made no call that could have changed anything."""
    last = case.last_agent
    if last is None or any(_may_change(case, event, params) for event in case.calls):
        return None
    cited = [last, *(event for event in case.calls[-1:] if event is not last)]
    return Finding(evidence=tuple(evidence.of_step(rule_id, event) for event in cited), values={"calls": str(len(case.calls))})


def _may_change(case: Case, event: Event, params: NoActionParams) -> bool:
    """Whether a call can have changed something: it is of no harmless kind, and the shell did not refuse it whole."""
    if event.error_class in outputs.REFUSED:
        return False
    if event.kind == "other" and event.commands and all(command.program in case.tables.programs.kinds for command in event.commands):
        return bool(event.writes)
    return event.kind not in params.only or bool(event.writes)


@matcher("empty_final_turn", NoParams)
def empty_final_turn(case: Case, rule_id: str, params: NoParams) -> Finding | None:
    """The agent's last step has neither words nor a call."""
    last = case.last_agent
    if last is None or last.tool is not None or last.text.strip():
        return None
    return Finding(evidence=(evidence.of_step(rule_id, last),))


class UncheckedParams(Params, frozen=True, kw_only=True):
    """`patterns`: last words that claim success; `unless`: words that take it back. `checks`: kinds of calls that check."""

    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()
    checks: frozenset[Kind] = frozenset({"test", "build", "run"})


@matcher("unverified_claim", UncheckedParams)
def unverified_claim(case: Case, rule_id: str, params: UncheckedParams) -> Finding | None:
    """The agent's last words say that the work is done, and no check succeeded after its last change."""
    last, pattern, unless = case.final_text, one_of(params.patterns), one_of(params.unless)
    assert pattern is not None
    if last is None or not case.changes:
        return None
    begin = max(0, len(last.text) - _WORDS)
    match = pattern.search(last.text, begin)
    if match is None or (unless is not None and unless.search(last.text, begin)):
        return None
    change = case.changes[-1]
    after = [event for event in case.calls if event.position > change.position and event.kind in params.checks]
    if any(not event.is_error for event in after) or change.kind in params.checks:
        return None
    found = [evidence.of_text(rule_id, last, match.start()), evidence.of_call(rule_id, change)]
    found += [evidence.of_output(rule_id, event) for event in after[-1:]]
    return Finding(evidence=tuple(found))


class AskedParams(Params, frozen=True, kw_only=True):
    """`patterns` over the last sentence of the agent's last words."""

    patterns: tuple[str, ...] = (r"\?\s*\Z",)


@matcher("ends_with_question", AskedParams)
def ends_with_question(case: Case, rule_id: str, params: AskedParams) -> Finding | None:
    """The run ends with a question of the agent, and there is nobody who answers."""
    last, pattern = case.last_agent, one_of(params.patterns)
    assert pattern is not None
    if last is None:
        return None
    if last.kind == "ask":
        return Finding(evidence=(evidence.of_call(rule_id, last),))
    text = last.text.rstrip()
    if last.tool is not None or not pattern.search(text, max(0, len(text) - _WORDS)):
        return None
    return Finding(evidence=(evidence.of_text(rule_id, last, max(0, len(text) - 100)),))


class EarlyParams(Params, frozen=True, kw_only=True):
    """`share` of the siblings' median number of steps; `siblings` that many at least."""

    share: float = 0.25
    siblings: int = 3


@matcher("ends_early", EarlyParams)
def ends_early(case: Case, rule_id: str, params: EarlyParams) -> Finding | None:
    """The run is far shorter than other attempts at the task, and nothing was checked after the last change."""
    siblings, last = case.job.siblings, case.last_agent
    if siblings is None or siblings.median_steps is None or siblings.jobs < params.siblings or last is None:
        return None
    if case.trajectory.n_steps > params.share * siblings.median_steps or any(event.phase == "V" for event in case.calls):
        return None
    values = {"steps": str(case.trajectory.n_steps), "median": f"{siblings.median_steps:g}"}
    return Finding(evidence=(evidence.of_step(rule_id, last),), values=values)


class OscillationParams(Params, frozen=True, kw_only=True):
    """`at_least` that many returns of one file to a text that it had before."""

    at_least: int = 2


@matcher("edit_oscillation", OscillationParams)
def edit_oscillation(case: Case, rule_id: str, params: OscillationParams) -> Finding | None:
    """A file was written to a text that it had before, more than once: the agent goes back and forth."""
    seen: dict[str, list[tuple[str, Event]]] = {}
    returns: dict[str, list[Event]] = {}
    for event in case.changes:
        state = _written_state(case, event)
        if state is None:
            continue
        path, text = state
        before = seen.setdefault(path, [])
        if before and before[-1][0] != text and any(text == old for old, _ in before[:-1]):
            returns.setdefault(path, []).append(event)
        before.append((text, event))
    for path, events in returns.items():
        if len(events) >= params.at_least:
            found = tuple(evidence.of_call(rule_id, event) for event in (seen[path][0][1], events[0], events[-1]))
            return Finding(evidence=found, values={"times": str(len(events)), "file": path}, wasted_steps=len(events))
    return None


def _written_state(case: Case, event: Event) -> tuple[str, str] | None:
    """The file and what stands there after the call, as far as the call says it: a whole text, or the part that an edit puts in."""
    if not event.writes:
        return None
    if event.command is not None:
        return (event.writes[0], event.key) if "<<" in event.command else None
    for name in case.tables.tools.content:
        value = event.arguments.get(name)
        if isinstance(value, str) and value:
            return event.writes[0], value
    return None


class LostParams(Params, frozen=True, kw_only=True):
    """`patterns`: how a summary of what went before reads; `at_least` that many files read again, unchanged."""

    patterns: tuple[str, ...]
    at_least: int = 3


@matcher("lost_context", LostParams)
def lost_context(case: Case, rule_id: str, params: LostParams) -> Finding | None:
    """After its context was summarised, the agent read several files again that it had read and that had not changed."""
    pattern = one_of(params.patterns)
    assert pattern is not None
    summary = next(
        (event for event in case.events if event.source != "agent" and event.position and pattern.search(event.text[:2000])), None
    )
    if summary is None:
        return None
    before = {event.key for event in case.calls if event.kind == "read" and event.position < summary.position}
    changed = {path for event in case.changes for path in event.writes}
    again = [
        event
        for event in case.calls
        if event.position > summary.position and event.kind == "read" and event.key in before and not changed & set(event.paths)
    ]
    if len({event.key for event in again}) < params.at_least:
        return None
    found = (evidence.of_text(rule_id, summary), *(evidence.of_call(rule_id, event) for event in again[:2]))
    return Finding(evidence=found, values={"times": str(len(again))}, wasted_steps=len(again))


class NoopParams(Params, frozen=True, kw_only=True):
    """`share` of the calls that do nothing and return nothing; `at_least` that many calls in all."""

    share: float = 0.5
    at_least: int = 4


@matcher("idle_calls", NoopParams)
def idle_calls(case: Case, rule_id: str, params: NoopParams) -> Finding | None:
    """Most calls did nothing: an empty command or the shell's no-op, and nothing came back."""
    if len(case.calls) < params.at_least:
        return None
    idle = [event for event in case.calls if event.kind == "noop" and outputs.is_empty(event.output, case.tables.errors)]
    if len(idle) < params.share * len(case.calls):
        return None
    return Finding(
        evidence=tuple(evidence.of_call(rule_id, event) for event in (idle[0], idle[-1])),
        values={"times": str(len(idle)), "calls": str(len(case.calls))},
        wasted_steps=len(idle),
        wasted_seconds=sum(event.seconds or 0.0 for event in idle) or None,
    )
