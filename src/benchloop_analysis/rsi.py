"""Weaknesses of one job: the three things that cost most, and what a run of the same task that passed did in their place."""

from __future__ import annotations

from collections.abc import Iterator

from benchloop_analysis import words
from benchloop_analysis.markdown import code, inline, joined, step_links
from benchloop_analysis.records import Evidence, JobAnalysis, Label, Struct, Trajectory
from benchloop_analysis.siblings import Call, Outline, calls, compare

MOST = 3
_SHOWN_CALLS = 2


class Cost(Struct, frozen=True, kw_only=True):
    """One thing that cost steps or time. `instead` is what the passing run did there; None where nothing comparable is found."""

    name: str
    says: str
    steps: tuple[int, ...]
    wasted_steps: int
    wasted_seconds: float | None
    evidence: Evidence | None
    instead: str | None = None
    instead_calls: tuple[Call, ...] = ()


class JobRsi(Struct, frozen=True, kw_only=True):
    """The most expensive first, by seconds where any are known, else by steps. `sibling` is the passing run that was looked at."""

    job_id: str
    says: str
    outcome: str | None
    costs: tuple[Cost, ...]
    sibling: str | None
    ruleset_version: str


def job_rsi(analysis: JobAnalysis, sibling: Outline | None = None) -> JobRsi:
    """The weaknesses of a job; what the sibling did needs `analysis.trajectory`."""
    found = sorted(_costs(analysis), key=lambda cost: (-(cost.wasted_seconds or 0.0), -cost.wasted_steps))[:MOST]
    run = analysis.trajectory
    if run is not None and sibling is not None:
        found = [_with_instead(cost, run, sibling) for cost in found]
    return JobRsi(
        job_id=analysis.job_id,
        says=analysis.verdict.says,
        outcome=analysis.verdict.outcome,
        costs=tuple(found),
        sibling=sibling.job_id if sibling is not None else None,
        ruleset_version=analysis.verdict.ruleset_version,
    )


def _costs(analysis: JobAnalysis) -> Iterator[Cost]:
    """The verdict itself, what else was seen, and errors that came more than once."""
    verdict = analysis.verdict
    if verdict.fail_reason is not None and verdict.evidence:
        yield Cost(
            name=verdict.sub_fail_reason or verdict.fail_reason,
            says=verdict.says,
            steps=_steps(verdict.evidence),
            wasted_steps=verdict.wasted_steps,
            wasted_seconds=verdict.wasted_seconds,
            evidence=verdict.evidence[0],
        )
    yield from map(_of_label, verdict.secondary)
    for signature in analysis.signatures:
        if signature.count > 1:
            yield Cost(
                name=signature.error_class,
                says=f"The same error of {signature.tool or 'a tool'} came {signature.count} times.",
                steps=signature.steps,
                wasted_steps=signature.count,
                wasted_seconds=signature.seconds,
                evidence=signature.example,
            )


def _of_label(label: Label) -> Cost:
    return Cost(
        name=label.sub_fail_reason or label.fail_reason,
        says=label.says,
        steps=_steps(label.evidence),
        wasted_steps=label.wasted_steps,
        wasted_seconds=label.wasted_seconds,
        evidence=label.evidence[0] if label.evidence else None,
    )


def _steps(evidence: tuple[Evidence, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(one.step_id for one in evidence if one.step_id is not None))


def _with_instead(cost: Cost, run: Trajectory, sibling: Outline) -> Cost:
    """What the sibling did after the call that comes before the first costly step, else how the runs differ as a whole."""
    found = _followers(cost, run, sibling) if cost.steps else ()
    if found:
        return _changed(cost, "After a call like the one before it, the passing run went on with", found)
    whole = compare(run, sibling).differences
    return _changed(cost, whole[0], ()) if whole else cost


def _followers(cost: Cost, run: Trajectory, sibling: Outline) -> tuple[Call, ...]:
    before = [call for call in calls(run.events) if call.step_id < cost.steps[0]]
    if not before:
        return sibling.calls[:_SHOWN_CALLS]
    wanted = before[-1].signature
    at = next((place for place, call in enumerate(sibling.calls) if call.signature == wanted), None)
    return () if at is None else sibling.calls[at + 1 : at + 1 + _SHOWN_CALLS]


def _changed(cost: Cost, instead: str, shown: tuple[Call, ...]) -> Cost:
    return Cost(
        name=cost.name,
        says=cost.says,
        steps=cost.steps,
        wasted_steps=cost.wasted_steps,
        wasted_seconds=cost.wasted_seconds,
        evidence=cost.evidence,
        instead=instead,
        instead_calls=shown,
    )


def job_rsi_markdown(rsi: JobRsi) -> str:
    """The weaknesses as Markdown."""
    return joined(
        [
            f"# Weaknesses of {inline(rsi.job_id)}",
            f"**{inline(rsi.says)}**",
            *(_cost(number, cost) for number, cost in enumerate(rsi.costs, 1)),
            "" if rsi.costs else "Nothing in the record stands out as costly.",
            _beside(rsi),
            f"Rules: {inline(rsi.ruleset_version)}",
        ]
    )


def _cost(number: int, cost: Cost) -> str:
    spent = [words.counted(cost.wasted_steps, "step")] if cost.wasted_steps else []
    if cost.wasted_seconds:
        spent.append(words.duration(cost.wasted_seconds))
    name = words.sub(cost.name)
    lines = [f"## {number}. {inline(name[:1].upper() + name[1:])}", inline(cost.says)]
    if cost.steps:
        lines.append(f"Where: {step_links(cost.steps)}")
    if spent:
        lines.append(f"Cost: {', '.join(spent)}.")
    if cost.evidence is not None and cost.evidence.field != "source":
        lines.append(f"As recorded: {code(cost.evidence.quote)}")
    if cost.instead is not None:
        after = " then ".join(f"{code(call.text)} (its step {call.step_id})" for call in cost.instead_calls)
        lines.append(f"{inline(cost.instead)}{' ' + after + '.' if after else ''}")
    return "\n\n".join(lines)


def _beside(rsi: JobRsi) -> str:
    if rsi.sibling is None:
        return "No run of this task that passed is there to compare with."
    return f"Compared with {code(rsi.sibling)}, which passed the same task."
