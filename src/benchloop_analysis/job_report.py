"""The report of one job: its verdict and what a reader needs to believe it: what happened, the cited steps, a run that passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from benchloop_analysis import words
from benchloop_analysis.judge import Opinion
from benchloop_analysis.records import (
    Event,
    Evidence,
    Facts,
    FaultSide,
    JobAnalysis,
    Label,
    Phase,
    Signature,
    Struct,
    Tier,
    Trajectory,
    VerifierReport,
)
from benchloop_analysis.siblings import Comparison, Outline, checked_after_change, compare

_HAPPENINGS = 6
_CITED = 5
_QUOTE, _EXCERPT = 200, 400
_COLUMNS = 72
_ORDER: tuple[Phase, ...] = ("I", "V", "E", "O")


class JobContext(Struct, frozen=True, kw_only=True):
    """What is known of a job beside its analysis and facts: its group, its cost (USD), a passing run, a model's opinion."""

    group_id: str | None = None
    cost_usd: float | None = None
    sibling: Outline | None = None
    opinion: Opinion | None = None


class Happening(Struct, frozen=True, kw_only=True):
    """One thing that happened: a sentence, the steps it is about, and words from there (verbatim) where they say more."""

    text: str
    steps: tuple[int, ...] = ()
    quote: str | None = None


class CitedStep(Struct, frozen=True, kw_only=True):
    """What stands in a step that evidence cites: words of the agent, its call, and what came back, each cut to an excerpt."""

    step_id: int
    said: str | None = None
    called: str | None = None
    answered: str | None = None


class Ribbon(Struct, frozen=True, kw_only=True):
    """The run from left to right in at most 72 columns of equal numbers of events.

    `phases`: E explores, I changes something, V checks it, O other. `errors` has `!` under columns with an error.
    """

    phases: str
    errors: str
    first_step: int
    last_step: int


class JobReport(Struct, frozen=True, kw_only=True):
    """Everything that is said about one job. `wasted_cost_usd` is the job's cost shared out by steps, an estimate."""

    job_id: str
    task_id: str
    group_id: str | None
    agent: str | None
    model: str | None
    step: int | None
    outcome: str | None
    reward: float | None
    fail_reason: str | None
    sub_fail_reason: str | None
    tier: Tier | None
    fault_side: FaultSide | None
    reward_valid: bool | None
    says: str
    evidence: tuple[Evidence, ...]
    reward_evidence: tuple[Evidence, ...]
    secondary: tuple[Label, ...]
    integrity: tuple[Label, ...]
    first_signal_step: int | None
    wasted_steps: int
    wasted_seconds: float | None
    wasted_cost_usd: float | None
    n_steps: int | None
    n_calls: int | None
    seconds: float | None
    what_happened: tuple[Happening, ...]
    ribbon: Ribbon | None
    cited_steps: tuple[CitedStep, ...]
    tests: VerifierReport | None
    signatures: tuple[Signature, ...]
    sibling: Comparison | None
    would_change: str | None
    opinion: Opinion | None
    ruleset_version: str


def job_report(analysis: JobAnalysis, facts: Facts, context: JobContext | None = None) -> JobReport:
    """The report. What happened, the cited steps and the comparison need `analysis.trajectory`."""
    context = context or JobContext()
    verdict, run = analysis.verdict, analysis.trajectory
    return JobReport(
        job_id=analysis.job_id,
        task_id=facts.task_id,
        group_id=context.group_id,
        agent=facts.agent,
        model=facts.model,
        step=facts.step,
        outcome=verdict.outcome,
        reward=facts.reward,
        fail_reason=verdict.fail_reason,
        sub_fail_reason=verdict.sub_fail_reason,
        tier=verdict.tier,
        fault_side=verdict.fault_side,
        reward_valid=verdict.reward_valid,
        says=verdict.says,
        evidence=verdict.evidence,
        reward_evidence=verdict.reward_evidence,
        secondary=verdict.secondary,
        integrity=verdict.integrity,
        first_signal_step=verdict.first_signal_step,
        wasted_steps=verdict.wasted_steps,
        wasted_seconds=verdict.wasted_seconds,
        wasted_cost_usd=_wasted_cost(verdict.wasted_steps, run, context.cost_usd),
        n_steps=run.n_steps if run is not None else None,
        n_calls=run.n_calls if run is not None else None,
        seconds=run.seconds if run is not None else None,
        what_happened=tuple(_happenings(analysis, facts))[:_HAPPENINGS],
        ribbon=ribbon(run.events) if run is not None else None,
        cited_steps=tuple(_cited_steps(analysis)),
        tests=analysis.tests,
        signatures=analysis.signatures,
        sibling=compare(run, context.sibling) if run is not None and context.sibling is not None and verdict.fail_reason else None,
        would_change=words.would_change(verdict.fail_reason) if verdict.fail_reason is not None else None,
        opinion=context.opinion,
        ruleset_version=verdict.ruleset_version,
    )


def _wasted_cost(steps: int, run: Trajectory | None, cost: float | None) -> float | None:
    if cost is None or run is None or not run.n_steps or not steps:
        return None
    return cost * min(1.0, steps / run.n_steps)


def ribbon(events: Sequence[Event]) -> Ribbon | None:
    """The run as a row of phases; a column that holds several shows a change before a check before anything else. None without a call."""
    calls = [event for event in events if event.tool is not None]
    if not calls:
        return None
    columns = min(_COLUMNS, len(calls))
    parts = [calls[len(calls) * at // columns : len(calls) * (at + 1) // columns] for at in range(columns)]
    return Ribbon(
        phases="".join(next(phase for phase in _ORDER if any(event.phase == phase for event in part)) for part in parts),
        errors="".join("!" if any(event.is_error for event in part) else " " for part in parts),
        first_step=calls[0].step_id,
        last_step=calls[-1].step_id,
    )


# ---- what happened ------------------------------------------------------------------------------------------------------------------


def _happenings(analysis: JobAnalysis, facts: Facts) -> Iterator[Happening]:
    """In the order of time, at most one of each sort."""
    run = analysis.trajectory
    if run is None:
        yield Happening(text="No trajectory was recorded, so what the agent did cannot be seen.")
    else:
        yield _length(run)
        yield from _changes(run)
        yield from _first_sign(analysis)
        yield from _errors(analysis)
        yield from _last_words(run)
    yield from _grading(analysis, facts)


def _length(run: Trajectory) -> Happening:
    took = f" in {words.duration(run.seconds)}" if run.seconds else ""
    errors = f"; {words.counted(run.n_errors, 'call')} ended in an error" if run.n_errors else ""
    calls = words.counted(run.n_calls, "tool call")
    return Happening(text=f"The agent took {words.counted(run.n_agent_steps, 'step')} with {calls}{took}{errors}.")


def _changes(run: Trajectory) -> Iterator[Happening]:
    if not run.n_calls:
        yield Happening(text="It called no tool at all.")
        return
    if run.first_change_step is None:
        yield Happening(text="It changed nothing, as far as its calls show.")
        return
    said = "It began to change things"
    if any(event.writes for event in run.events):
        checked = checked_after_change(run.events)
        said += f", and after the last change it {'ran or tested something' if checked else 'neither ran nor tested anything'}"
    yield Happening(text=said, steps=(run.first_change_step,))


def _first_sign(analysis: JobAnalysis) -> Iterator[Happening]:
    """A sign, not a cause: nobody can tell the root of a failure from its record reliably."""
    step, verdict = analysis.verdict.first_signal_step, analysis.verdict
    if step is None or verdict.fail_reason is None or verdict.fault_side not in {"model", "unknown"}:
        return
    yield Happening(text="First sign of trouble; the cause may lie before it", steps=(step,))


def _errors(analysis: JobAnalysis) -> Iterator[Happening]:
    if not analysis.signatures:
        return
    worst = max(analysis.signatures, key=lambda signature: (signature.seconds or 0.0, signature.count))
    times = "once" if worst.count == 1 else f"{worst.count} times"
    cost = f", {words.duration(worst.seconds)} in all" if worst.seconds else ""
    said = f"The costliest error ({words.spelled(worst.error_class)}) came {times}{cost}"
    yield Happening(text=said, steps=worst.steps, quote=worst.example.quote)


def _last_words(run: Trajectory) -> Iterator[Happening]:
    last = next((event for event in reversed(run.events) if event.source == "agent"), None)
    if last is None:
        return
    if last.text.strip():
        said = last.text.strip()
        yield Happening(text="The last thing the agent said", steps=(last.step_id,), quote=said[:_QUOTE])
    elif last.tool is None:
        yield Happening(text="The agent's last turn holds neither text nor a call", steps=(last.step_id,))


def _grading(analysis: JobAnalysis, facts: Facts) -> Iterator[Happening]:
    tests, quoted = analysis.tests, next((one.quote for one in analysis.verdict.reward_evidence if one.source != "step"), None)
    if tests is not None and tests.total:
        yield Happening(text=f"The tests: {tests.passed} of {tests.total} passed.")
    elif analysis.verdict.reward_valid is False:
        yield Happening(text="The grading left no result that counts. What is recorded", quote=quoted)
    elif facts.reward is not None:
        yield Happening(text=f"It was graded with reward {facts.reward:g}; there is no report of single tests.")
    else:
        yield Happening(text="It was not graded.")


# ---- the steps that are cited -------------------------------------------------------------------------------------------------------


def _cited_steps(analysis: JobAnalysis) -> Iterator[CitedStep]:
    """The first few steps that the verdict's own evidence cites, else those of what was seen beside it, in order."""
    if analysis.trajectory is None:
        return
    cited: Iterable[Evidence] = analysis.verdict.evidence
    if all(one.step_id is None for one in cited):
        cited = tuple(one for label in analysis.verdict.secondary for one in label.evidence)
    wanted = sorted(list(dict.fromkeys(one.step_id for one in cited if one.step_id is not None))[:_CITED])
    by_step: dict[int, list[Event]] = {step: [] for step in wanted}
    for event in analysis.trajectory.events:
        if event.step_id in by_step:
            by_step[event.step_id].append(event)
    for step, events in by_step.items():
        if events:
            yield _cited(step, events)


def _cited(step: int, events: Sequence[Event]) -> CitedStep:
    """The step's text and the call that failed, else its first call."""
    call = next((event for event in events if event.is_error), events[0])
    said = events[0].text.strip()
    return CitedStep(
        step_id=step,
        said=said[:_EXCERPT] or None,
        called=_called(call),
        answered=_excerpt(call),
    )


def _called(event: Event) -> str | None:
    if event.tool is None:
        return None
    if event.command is not None:
        return event.command[:_EXCERPT]
    said = ", ".join(f"{name}={value if isinstance(value, str) else _as_json(value)}" for name, value in event.arguments.items())
    return f"{event.tool}({said})"[:_EXCERPT]


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")


def _excerpt(event: Event) -> str | None:
    """The output from the line of its error on, else its beginning."""
    if not event.output:
        return None
    start = event.error_at or 0
    return event.output[start : start + _EXCERPT].strip() or None
