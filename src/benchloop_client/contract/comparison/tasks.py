"""Two groups, or two steps, compared task by task: what was won and lost, and whether that is more than chance. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from benchloop_client.contract.comparison import paired
from benchloop_client.contract.comparison.sides import Counts, Mean, Tally

Change = Literal["lost", "won", "both", "neither", "undecided", "only_a", "only_b"]
#: What can become of a task, in the order in which a table counts them.
CHANGES: tuple[Change, ...] = ("lost", "won", "both", "neither", "undecided", "only_a", "only_b")
SIGNIFICANCE = 0.05
#: A task counts as passed on a side when at least this share of its attempts there passed.
PASSED_FROM = 0.5


@dataclass(frozen=True, slots=True)
class TaskSide:
    """One task on one side. `pass_rate`: passed / attempts. `reward`, `tokens` (input and output together) and `cost_usd` (US dollars) are
    means over the attempts that recorded them, None where none did. `invalid`, `ungraded` and `unfinished` jobs are no attempts.
    """

    attempts: int
    passed: int
    pass_rate: float | None
    reward: float | None
    tokens: float | None
    cost_usd: float | None
    invalid: int
    ungraded: int
    unfinished: int


@dataclass(frozen=True, slots=True)
class TaskDiff:
    """One task. `change`: passed in both, neither, lost (A only) or won (B only) of them; `undecided` when it is on both sides but has no
    attempt on one; `only_a`, `only_b` when the other side lacks it. `tie`: on one side exactly half of the attempts passed, which counts as
    passed. Deltas are B - A, None unless both sides have the value.
    """

    task_id: str
    change: Change
    tie: bool
    pass_rate_delta: float | None
    reward_delta: float | None
    tokens_delta: float | None
    cost_usd_delta: float | None
    a: TaskSide | None
    b: TaskSide | None


@dataclass(frozen=True, slots=True)
class SideTotal:
    """All of one side, all of its tasks included. `steps`: the training steps that its jobs belong to."""

    group_id: str
    step: int | None
    steps: tuple[int, ...]
    jobs: int
    tasks: int
    attempts: int
    passed: int
    pass_rate: float | None
    invalid: int
    ungraded: int
    unfinished: int


@dataclass(frozen=True, slots=True)
class Delta:
    """A value a task, over the `tasks` that have it on both sides: mean of each side, and B - A."""

    tasks: int
    a: float | None
    b: float | None
    delta: float | None


@dataclass(frozen=True, slots=True)
class PassTest:
    """McNemar's exact test, two-sided, over the `tasks` with attempts on both sides; `ties` of them passed in exactly half of the attempts
    of a side, which counted as passed.
    """

    tasks: int
    lost: int
    won: int
    ties: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Diff:
    """The comparison of B with A. `tasks` begin with the worst regression. `reward` is a bootstrap over the tasks with a reward on both
    sides, None without such tasks. `worse` and `better` name the tests ("pass", "reward") that say so at `significance`; both empty: no
    difference beyond chance was found.
    """

    a: SideTotal
    b: SideTotal
    counts: dict[Change, int]
    passes: PassTest
    pass_rate: Delta
    reward: paired.Interval | None
    tokens: Delta
    cost_usd: Delta
    significance: float
    worse: tuple[str, ...]
    better: tuple[str, ...]
    tasks: tuple[TaskDiff, ...]


def compare(a: Counts, b: Counts, *, significance: float = SIGNIFICANCE, seed: int = 0) -> Diff:
    """The comparison of two sides that have been read.

    B is worse (better) by the pass test if more tasks were lost than won (won than lost) with p <= significance; by the reward if the whole
    interval at 1 - significance is below (above) 0 and enough tasks differ for a paired test to reach that level at all. Each test has half
    the level on either side, so both together call an equal B worse with a chance of at most `significance`.
    """
    tasks = tuple(sorted((_task(name, a.tasks.get(name), b.tasks.get(name)) for name in a.tasks | b.tasks), key=_by_regression))
    counts = Counter(task.change for task in tasks)
    decided = [task for task in tasks if task.pass_rate_delta is not None]
    lost, won = counts["lost"], counts["won"]
    passes = PassTest(len(decided), lost, won, sum(task.tie for task in decided), paired.mcnemar(lost, won))
    rewards = [task.reward_delta for task in tasks if task.reward_delta is not None]
    reward = paired.bootstrap_mean(rewards, level=1 - significance, seed=seed)
    ways = [*_ways_of_passes(passes, significance), *_ways_of_rewards(rewards, reward, significance)]
    return Diff(
        a=_total(a),
        b=_total(b),
        counts={change: counts[change] for change in CHANGES},
        passes=passes,
        pass_rate=_delta(tasks, "pass_rate"),
        reward=reward,
        tokens=_delta(tasks, "tokens"),
        cost_usd=_delta(tasks, "cost_usd"),
        significance=significance,
        worse=tuple(name for name, way in ways if way < 0),
        better=tuple(name for name, way in ways if way > 0),
        tasks=tasks,
    )


def _task(task_id: str, a: Tally | None, b: Tally | None) -> TaskDiff:
    before, after = _side(a), _side(b)

    def delta(name: str) -> float | None:
        return _minus(getattr(after, name, None), getattr(before, name, None))

    return TaskDiff(
        task_id=task_id,
        change=_change(a, b),
        tie=any(side is not None and side.pass_rate == PASSED_FROM for side in (before, after)),
        pass_rate_delta=delta("pass_rate"),
        reward_delta=delta("reward"),
        tokens_delta=delta("tokens"),
        cost_usd_delta=delta("cost_usd"),
        a=before,
        b=after,
    )


def _change(a: Tally | None, b: Tally | None) -> Change:
    if a is None:
        return "only_b"
    if b is None:
        return "only_a"
    if a.pass_rate is None or b.pass_rate is None:
        return "undecided"
    before, after = a.pass_rate >= PASSED_FROM, b.pass_rate >= PASSED_FROM
    if before == after:
        return "both" if after else "neither"
    return "won" if after else "lost"


def _side(tally: Tally | None) -> TaskSide | None:
    if tally is None:
        return None
    return TaskSide(
        attempts=tally.attempts,
        passed=tally.passed,
        pass_rate=tally.pass_rate,
        reward=tally.reward.value,
        tokens=tally.tokens.value,
        cost_usd=tally.cost_usd.value,
        invalid=tally.invalid,
        ungraded=tally.ungraded,
        unfinished=tally.unfinished,
    )


def _total(counts: Counts) -> SideTotal:
    tallies = counts.tasks.values()
    attempts, passed = sum(tally.attempts for tally in tallies), sum(tally.passed for tally in tallies)
    return SideTotal(
        group_id=counts.side.group_id,
        step=counts.side.step,
        steps=tuple(sorted(counts.steps)),
        jobs=counts.jobs,
        tasks=len(tallies),
        attempts=attempts,
        passed=passed,
        pass_rate=passed / attempts if attempts else None,
        invalid=sum(tally.invalid for tally in tallies),
        ungraded=sum(tally.ungraded for tally in tallies),
        unfinished=sum(tally.unfinished for tally in tallies),
    )


def _delta(tasks: Iterable[TaskDiff], name: str) -> Delta:
    a, b = Mean(), Mean()
    for task in tasks:
        if getattr(task, f"{name}_delta") is not None:
            a.add(getattr(task.a, name))
            b.add(getattr(task.b, name))
    return Delta(a.n, a.value, b.value, _minus(b.value, a.value))


def _ways_of_passes(passes: PassTest, significance: float) -> list[tuple[str, int]]:
    if passes.p_value > significance or passes.lost == passes.won:
        return []
    return [("pass", 1 if passes.won > passes.lost else -1)]


def _ways_of_rewards(deltas: Sequence[float], interval: paired.Interval | None, significance: float) -> list[tuple[str, int]]:
    # With a handful of tasks a bootstrap is too sure of itself; a test that counts signs sets how few are too few.
    if interval is None or paired.least_p(sum(delta != 0 for delta in deltas)) > significance:
        return []
    if interval.high < 0:
        return [("reward", -1)]
    return [("reward", 1)] if interval.low > 0 else []


def _by_regression(task: TaskDiff) -> tuple[bool, bool, float, float, str]:
    """Compared tasks first, the worst on top: by the share of attempts that passed, then by reward; those of one side only last."""
    return (
        task.a is None or task.b is None,
        task.pass_rate_delta is None,
        task.pass_rate_delta or 0.0,
        task.reward_delta or 0.0,
        task.task_id,
    )


def _minus(b: float | None, a: float | None) -> float | None:
    return None if a is None or b is None else b - a
