"""What concerns several jobs at once: one fault of the surroundings, one error met again and again, tasks graded oddly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchloop_analysis import words
from benchloop_analysis.group_records import ErrorSignature, Example, Finding, TaskNote
from benchloop_analysis.group_tally import Attempts, LabelTally
from benchloop_analysis.intervals import Rate
from benchloop_analysis.records import FaultSide, Tier

#: From how many jobs on something is systemic.
JOBS = 3
_SAME_ERRORS = 5
_TESTS_NAMED = 3
_SIDES: tuple[FaultSide, ...] = ("grader", "environment", "harness", "model_api", "task")


def same_fault(labels: Mapping[str, LabelTally], failed: int) -> list[Finding]:
    """One fault outside of the agent in several jobs, the most frequent first."""
    found = []
    for label, tally in labels.items():
        sides = {side: count for side, count in tally.sides.items() if side in _SIDES}
        if sum(sides.values()) >= JOBS:
            found.append(_same_fault(label, tally, max(sides, key=lambda side: sides[side]), failed))
    return sorted(found, key=lambda finding: (-finding.jobs.count, finding.name))


def _same_fault(label: str, tally: LabelTally, side: str, failed: int) -> Finding:
    name = label.partition("/")[2] or label.partition("/")[0]
    return Finding(
        kind="same_fault",
        name=name,
        says=f"{words.counted(tally.jobs, 'job')} with the same fault outside of the agent: {words.sub(name)}.",
        tier=_tier(tally.tiers),
        fault_side=_side(side),
        suspected=False,
        jobs=Rate.of_counts(tally.jobs, failed),
        wasted_seconds=tally.wasted_seconds,
        examples=tuple(tally.examples),
    )


def same_error(rows: Iterable[ErrorSignature], jobs: int) -> list[Finding]:
    """Errors that read alike in several jobs, in the order of the rows."""
    several = [row for row in rows if row.jobs >= JOBS][:_SAME_ERRORS]
    return [_same_error(row, jobs) for row in several]


def _same_error(row: ErrorSignature, jobs: int) -> Finding:
    cost = f", {words.duration(row.seconds)} in all" if row.seconds else ""
    return Finding(
        kind="same_error",
        name=row.error_class,
        says=f"{words.counted(row.jobs, 'job')} met the same error of {row.tool or 'a tool'}, {words.counted(row.count, 'time')}{cost}.",
        tier="B",
        fault_side="unknown",
        suspected=True,
        jobs=Rate.of_counts(row.jobs, jobs),
        wasted_seconds=row.seconds,
        examples=(row.example,),
    )


def task_notes(tasks: Iterable[Attempts], most: int) -> tuple[tuple[TaskNote, ...], int]:
    """Tasks whose grading looks wrong, the first `most` of them, and how many there are in all."""
    found: list[TaskNote] = []
    total = 0
    for task in tasks:
        notes = [*_flaky(task), *_defect(task)]
        total += len(notes)
        found += notes[: max(0, most - len(found))]
    return tuple(found), total


def _flaky(task: Attempts) -> list[TaskNote]:
    """One report of the tests, and yet two rewards."""
    for rewards in task.reports.values():
        if len(rewards) > 1:
            (one, first_job), (other, second_job) = rewards[:2]
            says = f"The same test report came with reward {one:g} in one attempt and {other:g} in another."
            examples = (Example(job_id=first_job), Example(job_id=second_job))
            return [TaskNote(task_id=task.task_id, sub_fail_reason="verifier_flaky", says=says, examples=examples)]
    return []


def _defect(task: Attempts) -> list[TaskNote]:
    if task.oracle_failed:
        says = "The task's own solution (the oracle agent) did not pass."
        return [_defect_note(task, says, task.oracle_failed)]
    attempts = task.outcomes
    if attempts.passed_valid or task.reported < JOBS or not task.failing or task.reported < attempts.valid:
        return []
    named = sorted(task.failing)
    more = f" and {len(named) - _TESTS_NAMED} more" if len(named) > _TESTS_NAMED else ""
    who = f" by {len(task.agents)} different agents or models" if len(task.agents) > 1 else ""
    says = (
        f"All {words.counted(task.reported, 'valid attempt')}{who} failed the same test: {', '.join(named[:_TESTS_NAMED])}{more}. "
        "A hard task looks the same."
    )
    return [_defect_note(task, says, task.failed)]


def _defect_note(task: Attempts, says: str, examples: list[Example]) -> TaskNote:
    return TaskNote(task_id=task.task_id, sub_fail_reason="task_defect_suspected", says=says, examples=tuple(examples))


def _tier(tiers: Mapping[str, int]) -> Tier:
    best: tuple[Tier, ...] = ("A", "B", "C", "D")
    return next((tier for tier in best if tiers.get(tier)), "D")


def _side(name: str) -> FaultSide:
    return next((side for side in _SIDES if side == name), "unknown")
