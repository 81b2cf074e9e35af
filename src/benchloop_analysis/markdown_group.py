"""The report of a group as Markdown: the pass rate both ways first, then what is wrong with many jobs, then the reasons of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchloop_analysis import words
from benchloop_analysis.group_records import Example, Finding, GroupReport, JudgeSummary, Rewards, Row, Signatures, TaskNote
from benchloop_analysis.intervals import PassAtK, Rate
from benchloop_analysis.markdown import bullets, cell, code, inline, joined, table

_ROWS, _FINDINGS, _SIGNATURES, _NOTES = 30, 12, 20, 20


def group_markdown(report: GroupReport) -> str:
    """The report. Its first line is the headline."""
    return joined(
        [
            f"**{inline(report.headline)}**",
            f"# Group {inline(report.group_id)}",
            _about(report),
            bullets(f"**Note:** {inline(notice)}" for notice in report.notices),
            *_rewards(report),
            *_findings(report.findings),
            *_reasons(report),
            *_notes(report.task_notes, report.task_notes_total),
            *_pass_at_k(report.pass_at_k),
            *_parts(report),
            *_signatures(report.signatures),
            *_judge(report.judge),
            *_words(report),
        ]
    )


def _about(report: GroupReport) -> str:
    named = [f"{name} {code(value)}" for name, value in (("Run", report.name), ("benchmark", report.benchmark)) if value]
    jobs = words.counted(report.present, "job")
    planned = f"{report.expected:,} planned" if report.expected is not None else "how many were planned is not recorded"
    return ", ".join([*named, f"{jobs} there", planned]) + "."


def _rewards(report: GroupReport) -> Iterator[str]:
    """Whether the rewards mean anything comes before what they are."""
    rewards = report.rewards
    yield "## Rewards"
    yield table(
        ("Jobs that ended", "Valid reward", "Invalid reward", "No reward"),
        [(f"{rewards.ended:,}", f"{rewards.valid:,}", f"{rewards.invalid:,}", f"{rewards.missing:,}")],
    )
    yield table(
        ("Counted over", "Passed", "Share", "95 % interval", "Mean reward"),
        [
            ("all jobs, as recorded", *_rate(rewards.passed), _mean(rewards.mean_reward)),
            ("jobs with a valid reward", *_rate(rewards.passed_valid), _mean(rewards.mean_reward_valid)),
        ],
    )
    if rewards.invalid:
        yield "An invalid reward says nothing about the agent: what should have graded it did not work."


def _rate(rate: Rate) -> tuple[str, str, str]:
    return f"{rate.count:,} of {rate.of:,}", words.percent(rate.value), _interval(rate.low, rate.high)


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f} %"


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield "## What concerns several jobs at once"
    yield bullets(map(_finding, findings[:_FINDINGS]))
    yield from _more(len(findings), _FINDINGS, len(findings))


def _finding(finding: Finding) -> str:
    return f"{inline(finding.says)} ({code(finding.name)}, tier {finding.tier}){_examples(finding.examples)}"


def _examples(examples: Iterable[Example]) -> str:
    found = list(examples)
    if not found:
        return ""
    quote = next((one.evidence.quote for one in found if one.evidence is not None and one.evidence.field != "source"), None)
    jobs = ", ".join(f"{code(one.job_id)}{f' step {one.step_id}' if one.step_id is not None else ''}" for one in found)
    return f" For example {jobs}{f': {code(quote, 160)}' if quote else ''}."


def _reasons(report: GroupReport) -> Iterator[str]:
    if not report.reasons:
        return
    yield "## Why jobs failed"
    yield f"{words.counted(report.failed, 'job')} failed. Shares are of these."
    rows = []
    for reason in report.reasons:
        rows.append((f"**{cell(reason.fail_reason)}**", *_rate(reason.share), "", _cost(reason.wasted_seconds), ""))
        rows += [
            (
                f"→ {cell(sub.sub_fail_reason or '(no sub-reason)')}{_meaning(sub.sub_fail_reason)}",
                *_rate(sub.share),
                " ".join(f"{tier} {count}" for tier, count in sub.tiers.items()),
                _cost(sub.wasted_seconds),
                ", ".join(cell(example.job_id) for example in sub.examples[:2]),
            )
            for sub in reason.subs
        ]
    yield table(("Reason", "Jobs", "Share", "95 % interval", "Tiers", "Time lost", "For example"), rows)
    yield bullets(f"{code(reason.fail_reason)}: {inline(words.reason(reason.fail_reason))}" for reason in report.reasons)


def _meaning(sub: str) -> str:
    """What a sub-reason's name means, where we have words for it."""
    said = words.sub(sub) if sub else ""
    return f" {inline(said)}" if said and said != words.spelled(sub) else ""


def _cost(seconds: float) -> str:
    return words.duration(seconds) if seconds else "–"


def _notes(notes: Sequence[TaskNote], total: int) -> Iterator[str]:
    if not notes:
        return
    yield "## Tasks to look at"
    yield bullets(f"Task {code(note.task_id)} ({code(note.sub_fail_reason)}): {inline(note.says)}" for note in notes[:_NOTES])
    yield from _more(total, _NOTES, len(notes))


def _pass_at_k(rates: Sequence[PassAtK]) -> Iterator[str]:
    """Worth a table where some task was tried more than once."""
    if len(rates) < 2:
        return
    yield "## pass@k"
    yield "The chance that at least one of k attempts passes, over tasks with at least k attempts whose reward is valid."
    rows = [(str(one.k), words.percent(one.value), _interval(one.low, one.high), f"{one.tasks:,}") for one in rates]
    yield table(("k", "pass@k", "95 % interval", "Tasks"), rows)


def _parts(report: GroupReport) -> Iterator[str]:
    for name, rows in (("agent", report.by_agent), ("model", report.by_model), ("training step", report.by_step), ("task", report.by_task)):
        if rows.total > 1:
            yield f"## By {name}"
            heads = (name.capitalize(), "Jobs", "Passed", "Passed, valid only", "Invalid", "Most frequent reasons")
            yield table(heads, map(_row, rows.rows[:_ROWS]))
            yield from _more(rows.total, _ROWS, len(rows.rows))


def _row(row: Row) -> tuple[str, ...]:
    rewards: Rewards = row.rewards
    return (
        cell(row.key),
        f"{row.jobs:,}",
        f"{rewards.passed.count:,} of {rewards.passed.of:,} ({words.percent(rewards.passed.value)})",
        f"{rewards.passed_valid.count:,} of {rewards.valid:,} ({words.percent(rewards.passed_valid.value)})",
        f"{rewards.invalid:,}",
        _top(row.reasons),
    )


def _top(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{cell(label)} {count:,}" for label, count in list(reasons.items())[:2]) or "–"


def _signatures(signatures: Signatures) -> Iterator[str]:
    if not signatures.rows:
        return
    yield "## Errors across jobs"
    by = "by the time spent on them" if signatures.ranked_by == "seconds" else "by how often they came: no times are recorded"
    yield f"Errors that read alike are one; ranked {by}."
    rows = [
        (
            cell(row.tool),
            cell(row.template, 120),
            f"{row.jobs:,}",
            f"{row.count:,}",
            words.duration(row.seconds) if row.seconds else "–",
            inline(row.first_seen[:16]) if row.first_seen else "–",
            f"{cell(row.example.job_id)}{f' step {row.example.step_id}' if row.example.step_id is not None else ''}",
        )
        for row in signatures.rows[:_SIGNATURES]
    ]
    yield table(("Tool", "Error", "Jobs", "Times", "Time spent", "First seen", "For example"), rows)
    yield from _more(signatures.total, _SIGNATURES, len(signatures.rows))
    if signatures.dropped:
        yield f"{signatures.dropped:,} rare errors were left out on the way."


def _judge(judge: JudgeSummary | None) -> Iterator[str]:
    """What a model thought, told as such."""
    if judge is None:
        return
    yield "## A model's opinion"
    names = ", ".join(map(code, judge.models)) or "a model"
    yield (
        f"The rules were not sure about {words.counted(judge.wanted, 'job')}, so {names} was asked. It came to a conclusion on "
        f"{judge.decided.count:,}: it agreed with the rules on {judge.agreed:,} and named another reason for {judge.refined:,}. "
        "That reason is counted above; the report of each job shows what the rules had said."
    )
    rest = [
        (judge.abstained, "it abstained, or its answers did not agree"),
        (judge.refused, "its answers were not believed: a wrong form, or a quote that is not in the record"),
        (judge.not_asked, "nobody was asked: the budget was used up"),
    ]
    yield bullets(f"{count:,}: {why}" for count, why in rest if count)
    yield f"Cost: {judge.cost_usd:.4f} USD."


def _more(total: int, shown: int, kept: int) -> Iterator[str]:
    """How many are not shown here, and how many not in the JSON report either."""
    if total > shown:
        told = f", {total - kept:,} not even there: `bl tasks get` and `bl jobs get` list everything" if total > kept else ""
        yield f"{total - shown:,} more: {kept - min(shown, kept):,} in the JSON report{told}."


def _words(report: GroupReport) -> Iterator[str]:
    yield "## How to read this"
    tiers = "; ".join(f"{tier}: {meaning}" for tier, meaning in words.TIERS.items())
    yield bullets(
        [
            f"A reason is only given where something in the record is evidence for it. Tiers say what kind of evidence: {tiers}.",
            f"Intervals: {inline(report.method)}.",
            "Time lost is time that went into what the evidence shows. It is not known for jobs without times.",
            f"Rules: {', '.join(code(version) for version in report.ruleset_versions)}",
        ]
    )
