"""Weaknesses of a group: what the agent does again and again in tasks that are lost, ranked by the number of those tasks."""

from __future__ import annotations

from collections.abc import Iterable

from benchloop_analysis import words
from benchloop_analysis.group import GroupFold
from benchloop_analysis.group_records import Example, GroupReport, Rewards
from benchloop_analysis.intervals import Rate
from benchloop_analysis.markdown import code, inline, joined, table
from benchloop_analysis.records import Struct

_SHOWN = 20
#: How a job ended, which is no weakness but what weaknesses lead to.
_ENDINGS = frozenset({"all_tests_failed", "partial_pass", "near_miss", "failed_check", "wrong_final_state", "answer_mismatch"})
_PREFACE = (
    "What the agent did in tasks that were lost, as far as the record shows it. One job can show several. "
    "What goes with failing is not always its cause."
)


class Weakness(Struct, frozen=True, kw_only=True):
    """A sub-reason on the agent's side.

    `tasks`: of all tasks tried, those with a failed attempt that shows it; `never_passed` of these no valid attempt passed. `jobs` counts
    the attempts.
    """

    fail_reason: str
    sub_fail_reason: str
    tasks: Rate
    never_passed: int
    jobs: int
    wasted_steps: int
    wasted_seconds: float
    examples: tuple[Example, ...]


class GroupRsi(Struct, frozen=True, kw_only=True):
    """The weaknesses, that of most tasks first. `not_the_agent`: jobs whose failure lies outside of the agent, by side."""

    group_id: str
    headline: str
    rewards: Rewards
    tasks: int
    weaknesses: tuple[Weakness, ...]
    not_the_agent: dict[str, int]
    unknown: int


def group_rsi(fold: GroupFold, report: GroupReport) -> GroupRsi:
    """The weaknesses of the group whose jobs the fold counted; `report` is the fold's."""
    outside: dict[str, int] = {}
    for reason in report.reasons:
        for side, count in reason.fault_sides.items():
            if side not in {"model", "unknown"}:
                outside[side] = outside.get(side, 0) + count
    weaknesses = [
        _weakness(label, tasks, never, fold)
        for label, (tasks, never) in fold.lost_tasks().items()
        if label.partition("/")[2] not in _ENDINGS
    ]
    return GroupRsi(
        group_id=report.group_id,
        headline=report.headline,
        rewards=report.rewards,
        tasks=fold.n_tasks,
        weaknesses=tuple(sorted(weaknesses, key=_rank)),
        not_the_agent=outside,
        unknown=report.unknown.count,
    )


def _weakness(label: str, tasks: int, never_passed: int, fold: GroupFold) -> Weakness:
    tally = fold.weakness(label)
    reason, _, sub = label.partition("/")
    return Weakness(
        fail_reason=reason,
        sub_fail_reason=sub,
        tasks=Rate.of_counts(tasks, fold.n_tasks),
        never_passed=never_passed,
        jobs=tally.jobs,
        wasted_steps=tally.wasted_steps,
        wasted_seconds=tally.wasted_seconds,
        examples=tuple(tally.examples),
    )


def _rank(weakness: Weakness) -> tuple[int, int, float, str, str]:
    return -weakness.tasks.count, -weakness.never_passed, -weakness.wasted_seconds, weakness.fail_reason, weakness.sub_fail_reason


def group_rsi_markdown(rsi: GroupRsi) -> str:
    """The weaknesses as Markdown."""
    return joined(
        [
            f"# Weaknesses in group {inline(rsi.group_id)}",
            f"**{inline(rsi.headline)}**",
            _PREFACE,
            _table(rsi.weaknesses) or "No weakness of the agent is on record.",
            *(_weakness_text(one) for one in rsi.weaknesses[:_SHOWN]),
            _outside(rsi),
        ]
    )


def _table(weaknesses: Iterable[Weakness]) -> str:
    rows = [
        (
            code(one.sub_fail_reason or one.fail_reason),
            f"{one.tasks.count:,} of {one.tasks.of:,}",
            f"{one.never_passed:,}",
            f"{one.jobs:,}",
            words.duration(one.wasted_seconds) if one.wasted_seconds else "–",
        )
        for one in weaknesses
    ]
    return table(("Weakness", "Tasks lost", "Never passed", "Jobs", "Time lost"), rows[:_SHOWN])


def _weakness_text(one: Weakness) -> str:
    said = words.sub(one.sub_fail_reason or one.fail_reason)
    lines = [f"## {inline(said[:1].upper() + said[1:])}", inline(words.reason(one.fail_reason))]
    for example in one.examples:
        where = f" step {example.step_id}" if example.step_id is not None else ""
        told = example.evidence is not None and example.evidence.field != "source"
        quote = f": {code(example.evidence.quote, 160)}" if told and example.evidence is not None else ""
        lines.append(f"- {code(example.job_id)}{where}{quote}")
    return "\n\n".join(lines[:2]) + ("\n\n" + "\n".join(lines[2:]) if lines[2:] else "")


def _outside(rsi: GroupRsi) -> str:
    parts = [f"{words.counted(count, 'job')}: {words.SIDES.get(side, side)}" for side, count in rsi.not_the_agent.items()]
    if rsi.unknown:
        parts.append(f"{words.counted(rsi.unknown, 'job')}: the reason is not known")
    return f"Not counted here: {'; '.join(parts)}." if parts else ""
