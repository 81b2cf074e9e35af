"""The report of one job as Markdown that a reader understands in a minute who has never seen the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchloop_analysis import words
from benchloop_analysis.job_report import CitedStep, Happening, JobReport, Ribbon
from benchloop_analysis.judge import Opinion
from benchloop_analysis.markdown import bullets, cell, code, fenced, inline, joined, step_link, step_links, table
from benchloop_analysis.records import UNKNOWN, Evidence, Label, VerifierReport
from benchloop_analysis.siblings import Call, Comparison

_TESTS = 20
_EVIDENCE = 12


def job_markdown(report: JobReport) -> str:
    """The report, the verdict first."""
    return joined(
        [
            f"# {_title(report)}",
            _verdict(report),
            _about(report),
            "## What happened",
            bullets(map(_happening, report.what_happened)),
            _ribbon(report.ribbon),
            *_evidence(report),
            *_tests(report.tests),
            *_labels("## Also seen", report.secondary),
            *_labels("## Suspicions", report.integrity, "They change no reward. A person should read the cited steps."),
            *_opinion(report.opinion),
            *_sibling(report.sibling),
            *_cost(report),
            *_would_change(report),
            *_cited(report.cited_steps),
            f"Rules: {code(report.ruleset_version)}",
        ]
    )


def _title(report: JobReport) -> str:
    if report.fail_reason is not None:
        lost = "failed" if report.reward_valid is not False else "has no valid result"
        return f"Why {inline(report.job_id)} {lost}"
    return f"{inline(report.job_id)}: {'passed' if report.outcome == 'passed' else 'no failure to explain'}"


def _verdict(report: JobReport) -> str:
    """The verdict line: what, how sure, on whose side, and whether the reward counts."""
    if report.fail_reason is None:
        return f"**{inline(report.says)}** {_reward(report)}"
    sub = f" → {code(report.sub_fail_reason)}" if report.sub_fail_reason else ""
    unknown = report.fail_reason == UNKNOWN
    known = f"Known from {words.TIERS[report.tier]} (tier {report.tier})." if report.tier is not None and not unknown else ""
    side = f"Side: {words.SIDES[report.fault_side]}." if report.fault_side is not None and report.fault_side != UNKNOWN else ""
    doubted = report.fault_side == UNKNOWN and not unknown
    said = f"**{inline(report.says)}** {inline(words.DOUBTED if doubted else words.reason(report.fail_reason))}"
    return f"{said}\n\nReason: {code(report.fail_reason)}{sub}. {' '.join(filter(None, (side, known)))} {_reward(report)}".rstrip()


def _reward(report: JobReport) -> str:
    if report.reward is None:
        return "There is no reward."
    if report.reward_valid is False:
        return f"The reward, {report.reward:g}, is not valid: it says nothing about the agent."
    return f"The reward is {report.reward:g}."


def _about(report: JobReport) -> str:
    named = (("Task", report.task_id), ("agent", report.agent), ("model", report.model), ("group", report.group_id))
    said = [f"{name} {code(value)}" for name, value in named if value]
    if report.step is not None:
        said.append(f"training step {report.step}")
    return ", ".join(said) + "."


def _happening(happening: Happening) -> str:
    links = f" ({step_links(happening.steps)})" if happening.steps else ""
    quote = f": {code(happening.quote)}" if happening.quote else "." if happening.steps else ""
    return f"{inline(happening.text)}{links}{quote}"


def _ribbon(ribbon: Ribbon | None) -> str:
    if ribbon is None:
        return ""
    rows = [f"calls   {ribbon.phases}"]
    if "!" in ribbon.errors:
        rows.append(f"errors  {ribbon.errors.rstrip()}")
    legend = "E looks around · I changes something · V checks it · O other · ! an error"
    span = f"Its calls from left to right, {step_link(ribbon.first_step)} to {step_link(ribbon.last_step)}:"
    return f"{span}\n\n{fenced(chr(10).join([*rows, legend]))}"


def _evidence(report: JobReport) -> Iterator[str]:
    found = list(_each_once((*report.evidence, *report.reward_evidence)))
    if found:
        yield "## Evidence"
        yield "Word for word, as recorded:"
        rows = [(_where(one), cell(one.quote), cell(one.rule_id)) for one in found[:_EVIDENCE]]
        yield table(("Where", "What stands there", "Rule"), rows)
        if len(found) > _EVIDENCE:
            yield f"{len(found) - _EVIDENCE} more in the JSON report."


def _each_once(evidence: Iterable[Evidence]) -> Iterator[Evidence]:
    """Two rules may cite the same words; they are shown once, for the first of them."""
    seen: set[tuple[object, ...]] = set()
    for one in evidence:
        place = (one.source, one.step_id, one.field, one.quote)
        if place not in seen:
            seen.add(place)
            yield one


def _where(evidence: Evidence) -> str:
    if evidence.step_id is not None:
        return f"{step_link(evidence.step_id)}, {cell(evidence.field)}"
    return f"{'file' if evidence.source == 'file' else 'recorded'} {cell(evidence.field)}"


def _tests(tests: VerifierReport | None) -> Iterator[str]:
    if tests is None or not tests.failed_names:
        return
    yield "## Failing tests"
    yield f"{tests.failed} of {tests.total} failed, by {code(tests.path)}:"
    yield bullets(code(name) for name in tests.failed_names[:_TESTS])
    if len(tests.failed_names) > _TESTS:
        yield f"{len(tests.failed_names) - _TESTS} more in the JSON report."


def _labels(head: str, labels: Sequence[Label], note: str = "") -> Iterator[str]:
    if not labels:
        return
    yield head
    if note:
        yield note
    yield bullets(_label(label) for label in labels)


def _label(label: Label) -> str:
    steps = [one.step_id for one in label.evidence if one.step_id is not None]
    quote = next((one.quote for one in label.evidence if one.field != "source"), None)
    said = f"{inline(label.says)} ({code(label.sub_fail_reason or label.fail_reason)}, tier {label.tier})"
    return " ".join(filter(None, (said, step_links(steps), code(quote) if quote else "")))


def _opinion(opinion: Opinion | None) -> Iterator[str]:
    """What a model thinks, and that it is a model that thinks so."""
    if opinion is None:
        return
    yield "## A model's opinion"
    who = f"{code(opinion.model)} was asked, because the rules alone are not sure ({code(opinion.before)})."
    if opinion.status == "abstained":
        yield f"{who} It gives no opinion: {inline(opinion.why or '')}."
    elif opinion.status == "refused":
        yield f"{who} Its answer is not believed: {inline(opinion.why or '')}."
    else:
        verb = "agrees" if opinion.status == "agreed" else f"says {code(opinion.label or '')} instead"
        yield f"{who} It {verb}: {inline(opinion.says or '')}"
        yield bullets(f"{step_link(one.step_id)} {code(one.quote)}" for one in opinion.evidence if one.step_id is not None)
    if sum(opinion.votes.values()) > 1:
        yield f"Its answers: {', '.join(f'{code(name)} {count} ×' for name, count in opinion.votes.items())}."


def _sibling(comparison: Comparison | None) -> Iterator[str]:
    if comparison is None:
        return
    yield "## Beside a run that passed"
    yield f"Job {code(comparison.sibling)} passed the same task in {words.counted(comparison.sibling_steps, 'step')}."
    alike = "From the first call on they differ:"
    if comparison.same:
        alike = "The first call is the same." if comparison.same == 1 else f"The first {comparison.same:,} calls are the same."
        alike += " Then"
    yield f"{alike} this run did {_call(comparison.mine, linked=True)}; the passing run did {_call(comparison.theirs, linked=False)}."
    if comparison.differences:
        yield bullets(map(inline, comparison.differences))
    yield "A difference is not a cause: runs of one task differ in many ways."


def _call(call: Call | None, *, linked: bool) -> str:
    if call is None:
        return "nothing more"
    where = step_link(call.step_id) if linked else f"its step {call.step_id}"
    return f"{code(call.text)} ({where})"


def _cost(report: JobReport) -> Iterator[str]:
    if not report.wasted_steps and not report.wasted_seconds:
        return
    spent = [words.counted(report.wasted_steps, "step")]
    if report.wasted_seconds:
        spent.append(words.duration(report.wasted_seconds))
    if report.wasted_cost_usd is not None:
        spent.append(f"about {report.wasted_cost_usd:.2f} USD")
    yield "## What it cost"
    yield f"{', '.join(spent)} went into what the evidence shows, without use."


def _would_change(report: JobReport) -> Iterator[str]:
    if report.would_change is not None:
        yield "## What would change this verdict"
        yield inline(report.would_change)


def _cited(steps: Sequence[CitedStep]) -> Iterator[str]:
    if not steps:
        return
    yield "## Cited steps"
    for step in steps:
        yield f"### Step {step.step_id}"
        if not (step.said or step.called or step.answered):
            yield "It holds no words, no call and no result."
        for head, text in (("The agent said:", step.said), ("It called:", step.called), ("What came back:", step.answered)):
            if text:
                yield f"{head}\n\n{fenced(text)}"
