"""Matchers of limits: time, turns, tokens, context, and answers of the model that were cut or empty."""

from __future__ import annotations

from benchloop_analysis import evidence
from benchloop_analysis.case import Case
from benchloop_analysis.matchers.registry import Finding, Params, matcher, one_of
from benchloop_analysis.records import Event, Evidence

#: Of last words, as much as this is read.
_WORDS = 20_000


class LimitParams(Params, frozen=True, kw_only=True):
    """`error_types` and `patterns` over the error message say which limit; `files` with `lines`: or a line of a log.

    `share`: one call that took this part of the time makes the environment the side at fault.
    """

    error_types: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    files: str = ""
    lines: tuple[str, ...] = ()
    share: float = 0.5


@matcher("limit", LimitParams)
def limit(case: Case, rule_id: str, params: LimitParams) -> Finding | None:
    """A recorded limit ended the run. The last step and the longest one are cited; one that ate half of the time is called the cause."""
    found = _recorded(case, rule_id, params)
    if not found:
        return None
    last = case.last_agent
    if last is not None:
        found.append(evidence.of_step(rule_id, last))
    longest = max(case.calls, key=lambda event: event.seconds or 0.0, default=None)
    budget, spent = case.agent_seconds, longest.seconds if longest is not None else None
    heavy = bool(longest is not None and budget and spent and spent >= params.share * budget)
    if longest is not None and heavy:
        found.append(evidence.of_call(rule_id, longest))
    return Finding(
        evidence=tuple(found),
        values={"longest": f"{spent or 0:.0f}", "budget": f"{budget or 0:.0f}"},
        fault_side="environment" if heavy else None,
        wasted_seconds=spent if heavy else None,
    )


def _recorded(case: Case, rule_id: str, params: LimitParams) -> list[Evidence]:
    facts, pattern = case.facts, one_of(params.patterns)
    if facts.error_type in params.error_types or (pattern is not None and pattern.search(facts.error_message or "")):
        return [evidence.of_fact(rule_id, facts, name) for name in ("error_type", "error_message") if getattr(facts, name)]
    paths, lines = one_of((params.files,) if params.files else ()), one_of(params.lines)
    if paths is not None and lines is not None:
        for file in case.files(paths):
            match = lines.search(file.text)
            if match is not None:
                return [evidence.of_file(rule_id, file, match.start())]
    return []


class StopParams(Params, frozen=True, kw_only=True):
    """`reasons`: why the model stopped, as its interface says; only where the agent's last step did."""

    reasons: frozenset[str]
    without_call: bool = True


@matcher("stop_reason", StopParams)
def stop_reason(case: Case, rule_id: str, params: StopParams) -> Finding | None:
    """The model's last answer ended for one of these reasons, and the run with it."""
    last = case.last_agent
    if (
        last is None
        or last.stop_reason not in params.reasons
        or (params.without_call and last.tool is not None and last.output is not None)
    ):
        return None
    found = Evidence(
        rule_id=rule_id, source="step", step_id=last.step_id, field=_stop_field(case, last), start=0, quote=last.stop_reason or ""
    )
    return Finding(evidence=(found,), values={"reason": last.stop_reason or ""})


def _stop_field(case: Case, event: Event) -> str:
    steps = (case.job.document or {}).get("steps") or ()
    step = next(step for step in steps if step["step_id"] == event.step_id)
    return f"extra.{'stop_reason' if step['extra'].get('stop_reason') else 'finish_reason'}"


class EmptyParams(Params, frozen=True, kw_only=True):
    """`at_least` that many empty answers in a row."""

    at_least: int = 3


@matcher("empty_completions", EmptyParams)
def empty_completions(case: Case, rule_id: str, params: EmptyParams) -> Finding | None:
    """The model answered several times in a row with nothing: no words, no thought, no call, 0 tokens."""
    row: list[Event] = []
    for event in case.agent_events:
        empty = event.tool is None and not event.text.strip() and not event.thinking.strip() and event.completion_tokens == 0
        row = [*row, event] if empty else []
    if len(row) < params.at_least:
        return None
    found = tuple(
        Evidence(rule_id=rule_id, source="step", step_id=event.step_id, field="metrics.completion_tokens", start=0, quote="0")
        for event in (row[0], row[-1])
    )
    return Finding(evidence=found, values={"times": str(len(row))}, wasted_steps=len(row))


class LastWordsParams(Params, frozen=True, kw_only=True):
    """`patterns` over the agent's last words; none of `unless` may stand in them. Longer words than `longest` are a report."""

    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()
    longest: int = 100_000


@matcher("last_words", LastWordsParams)
def last_words(case: Case, rule_id: str, params: LastWordsParams) -> Finding | None:
    """The agent's last words read like one of the patterns."""
    last = case.final_text
    if last is None or len(last.text) > params.longest:
        return None
    pattern, unless = one_of(params.patterns), one_of(params.unless)
    assert pattern is not None
    begin = max(0, len(last.text) - _WORDS)
    match = pattern.search(last.text, begin)
    if match is None or (unless is not None and unless.search(last.text, begin)):
        return None
    return Finding(evidence=(evidence.of_text(rule_id, last, match.start()),))
