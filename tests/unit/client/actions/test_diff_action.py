"""The comparison of two sides: which jobs count, what becomes of a task, what is significant, and that swapping sides mirrors it all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.actions import diff
from benchloop_client.actions.diff import Diff, Side, TaskDiff
from benchloop_client.actions.diff_sides import Counts, Tally
from benchloop_client.actions.events import Event, Noted
from benchloop_client.actions.work import Work
from benchloop_client.errors import ApiError, NotFound, UsageError
from tests.support.documented import Documented

Row = dict[str, Any]


def row(task: str = "t", reward: float | None = 1.0, **more: Any) -> Row:
    """A row of the job list."""
    outcome = "ungraded" if reward is None else "passed" if reward >= 1 else "partial" if reward > 0 else "failed"
    return {"job_id": "j", "task_id": task, "status": "completed", "outcome": outcome, "reward": reward, **more}


def counted(name: str, rows: list[Row]) -> Counts:
    """A side that has these rows."""
    counts = Counts(Side(name))
    for each in rows:
        counts.jobs += 1
        counts.tasks.setdefault(each["task_id"], Tally()).add(each)
    return counts


def compared(a: list[Row], b: list[Row], **options: Any) -> Diff:
    """B against A."""
    return diff.compare(counted("A", a), counted("B", b), **options)


def one(a: list[Row], b: list[Row]) -> TaskDiff:
    """The only task of a comparison."""
    (task,) = compared(a, b).tasks
    return task


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("G1", Side("G1")),
        ("G1@100", Side("G1", 100)),
        ("G1@", Side("G1@")),
        ("a@b", Side("a@b")),
        ("a@b@7", Side("a@b", 7)),
        ("G1@1.5", Side("G1@1.5")),
        ("@5", Side("@5")),
    ],
)
def test_an_at_sign_and_a_number_name_a_step(text: str, side: Side) -> None:
    assert Side.parse(text) == side
    assert str(side) == text


@pytest.mark.parametrize(
    ("a", "b", "change"),
    [
        ([row(reward=1)], [row(reward=0)], "lost"),
        ([row(reward=0)], [row(reward=1)], "won"),
        ([row(reward=1)], [row(reward=1)], "both"),
        ([row(reward=0.9)], [row(reward=0)], "neither"),
        ([row(reward=1)], [row(reward=None)], "undecided"),
        ([row(reward=1)], [], "only_a"),
        ([], [row(reward=0)], "only_b"),
        ([row(reward=1), row(reward=0)], [row(reward=0)], "lost"),
        ([row(reward=1), row(reward=0), row(reward=0)], [row(reward=1)], "won"),
        ([row(reward=1)], [row(reward=1, reward_valid=False)], "undecided"),
    ],
)
def test_what_becomes_of_a_task(a: list[Row], b: list[Row], change: str) -> None:
    assert one(a, b).change == change


def test_half_passed_is_passed_and_said() -> None:
    task = one([row(reward=1), row(reward=0)], [row(reward=1)])
    assert (task.change, task.tie) == ("both", True)
    assert compared([row(reward=1), row(reward=0)], [row(reward=1)]).passes.ties == 1
    assert not one([row(reward=1)], [row(reward=0)]).tie


def test_an_error_without_reward_is_an_attempt_that_did_not_pass_and_has_no_reward() -> None:
    errored = row(reward=None, outcome="errored", error_type="Timeout")
    task = one([row(reward=1)], [errored])
    assert task.change == "lost"
    assert task.b is not None
    assert (task.b.attempts, task.b.passed, task.b.reward) == (1, 0, None)
    assert task.reward_delta is None


def test_invalid_ungraded_and_unfinished_jobs_are_left_out_and_counted() -> None:
    rows = [
        row(reward=1),
        row(reward=0, reward_valid=False, n_input_tokens=9, n_output_tokens=9, cost_usd=9.0),
        row(reward=None, outcome="errored", error_type="X", reward_valid=False),
        row(reward=None),
        row(reward=None, outcome=None, status="running"),
    ]
    found = compared(rows, [row(reward=1)])
    assert (found.a.jobs, found.a.attempts, found.a.passed) == (5, 1, 1)
    assert (found.a.invalid, found.a.ungraded, found.a.unfinished) == (2, 1, 1)
    assert found.tasks[0].a is not None
    assert (found.tasks[0].a.reward, found.tasks[0].a.tokens, found.tasks[0].a.cost_usd) == (1.0, None, None)


def test_deltas_are_b_minus_a_and_null_where_a_side_does_not_know() -> None:
    a = [row(reward=0.5, n_input_tokens=100, n_output_tokens=10, cost_usd=0.5), row(reward=0.0, n_input_tokens=200, n_output_tokens=10)]
    b = [row(reward=1.0, n_input_tokens=50, n_output_tokens=5, cost_usd=0.25)]
    task = one(a, b)
    assert (task.reward_delta, task.tokens_delta, task.cost_usd_delta, task.pass_rate_delta) == (0.75, -105.0, -0.25, 1.0)
    task = one([row(n_input_tokens=1)], [row(n_input_tokens=1, n_output_tokens=1)])
    assert (task.reward_delta, task.tokens_delta, task.cost_usd_delta) == (0.0, None, None)


def test_numbers_as_text_and_camel_keys_are_understood_and_nan_is_not_a_number() -> None:
    camel = {
        "jobId": "j",
        "task_id": "t",
        "rewardValid": True,
        "status": "completed",
        "reward": "1.0",
        "nInputTokens": "7",
        "nOutputTokens": 1,
    }
    task = one([camel], [row(reward=float("nan"), outcome="failed", cost_usd=True)])
    assert task.a is not None
    assert task.b is not None
    assert (task.a.passed, task.a.reward, task.a.tokens) == (1, 1.0, 8.0)
    assert (task.b.reward, task.b.cost_usd) == (None, None)


def test_the_worst_regression_comes_first_and_one_sided_tasks_last() -> None:
    a = [row("lost", 1), row("same", 1), row("less", 0.5), row("won", 0), row("gone", 1), row("open", 1)]
    b = [row("lost", 0), row("same", 1), row("less", 0.25), row("won", 1), row("new", 1), row("open", None)]
    names = [task.task_id for task in compared(a, b).tasks]
    assert names == ["lost", "less", "same", "won", "open", "gone", "new"]


def _many(lost: int, won: int, same: int = 3) -> tuple[list[Row], list[Row]]:
    tasks = [("l", 1.0, 0.0)] * lost + [("w", 0.0, 1.0)] * won + [("s", 1.0, 1.0)] * same
    a = [row(f"{kind}{number}", before) for number, (kind, before, _) in enumerate(tasks)]
    return a, [row(f"{kind}{number}", after) for number, (kind, _, after) in enumerate(tasks)]


@pytest.mark.parametrize(
    ("lost", "won", "worse"), [(5, 0, ()), (6, 0, ("pass", "reward")), (0, 6, ()), (9, 4, ()), (20, 5, ("pass", "reward"))]
)
def test_worse_is_said_only_beyond_chance(lost: int, won: int, worse: tuple[str, ...]) -> None:
    assert compared(*_many(lost, won)).worse == worse


def test_better_is_the_mirror_of_worse_and_the_level_counts() -> None:
    assert compared(*_many(0, 6)).better == ("pass", "reward")
    assert compared(*_many(6, 0), significance=0.01).worse == ()
    assert compared(*_many(5, 0), significance=0.1).worse == ("pass", "reward")


def test_a_handful_of_falling_rewards_is_not_enough_for_the_bootstrap() -> None:
    few = compared([row(str(n), 0.9) for n in range(5)], [row(str(n), 0.1) for n in range(5)])
    enough = compared([row(str(n), 0.9) for n in range(6)], [row(str(n), 0.1) for n in range(6)])
    assert few.reward is not None
    assert few.reward.high < 0
    assert (few.worse, enough.worse) == ((), ("reward",))


def test_pass_and_reward_can_disagree() -> None:
    a = [row(f"p{n}", 0.9) for n in range(8)] + [row(f"r{n}", 0.9) for n in range(60)]
    b = [row(f"p{n}", 1.0) for n in range(8)] + [row(f"r{n}", 0.1) for n in range(60)]
    found = compared(a, b)
    assert (found.better, found.worse) == (("pass",), ("reward",))


def test_two_empty_sides_are_no_difference() -> None:
    found = compared([], [])
    assert (found.tasks, found.reward, found.passes.p_value, found.worse, found.better) == ((), None, 1.0, (), ())
    assert json.loads(json.dumps(diff.as_json(found)))["counts"]["lost"] == 0


rows = st.builds(
    row,
    st.sampled_from(["t1", "t2", "t3", "t4"]),
    st.sampled_from([None, 0.0, 0.5, 1.0]),
    reward_valid=st.sampled_from([None, True, False]),
    cost_usd=st.none() | st.floats(0, 10),
)


@given(a=st.lists(rows, max_size=20), b=st.lists(rows, max_size=20))
@settings(max_examples=60, deadline=None)
def test_swapping_the_sides_mirrors_everything(a: list[Row], b: list[Row]) -> None:
    there, back = compared(a, b), compared(b, a)
    turned = {"lost": "won", "won": "lost", "only_a": "only_b", "only_b": "only_a"}
    assert {turned.get(name, name): number for name, number in there.counts.items()} == back.counts
    assert (there.worse, there.better) == (back.better, back.worse)
    assert (there.passes.p_value, there.passes.tasks, there.passes.ties) == (back.passes.p_value, back.passes.tasks, back.passes.ties)
    assert sum(there.counts.values()) == len(there.tasks) == len({each["task_id"] for each in a + b})
    backward = {task.task_id: task for task in back.tasks}
    for task in there.tasks:
        other = backward[task.task_id]
        assert (task.a, task.b) == (other.b, other.a)
        assert task.reward_delta == (None if other.reward_delta is None else -other.reward_delta)


@given(rows=st.lists(rows, max_size=20))
@settings(max_examples=30, deadline=None)
def test_a_side_does_not_differ_from_itself(rows: list[Row]) -> None:
    found = compared(rows, rows)
    assert found.counts["lost"] == found.counts["won"] == 0
    assert (found.worse, found.better, found.passes.p_value) == ((), (), 1.0)


@pytest.fixture
def lists(old: Documented) -> Callable[..., None]:
    """Give a group of the documented server these rows."""

    def give(group_id: str, given: list[Row]) -> None:
        old.groups[group_id] = [{**each, "job_id": f"{group_id}-{number}"} for number, each in enumerate(given)]

    return give


def test_an_old_server_that_knows_no_steps_is_filtered_here(work: Work, lists: Callable[..., None]) -> None:
    lists("S", [row("t", 1, step=100), row("t", 0, step=200), row("t", 0), row("u", 1, step=200)])
    found = diff.diff(work, Side("S", 100), Side("S", 200))
    assert (found.a.jobs, found.b.jobs, found.b.steps) == (1, 2, (200,))
    assert {task.task_id: task.change for task in found.tasks} == {"t": "lost", "u": "only_b"}


def test_a_group_of_several_steps_is_compared_as_a_whole_and_says_so(work: Work, lists: Callable[..., None], seen: list[Event]) -> None:
    lists("S", [row("t", 1, step=100), row("t", 0, step=200)])
    assert diff.diff(work, Side("S"), Side("S", 100)).a.steps == (100, 200)
    assert [event.text for event in seen if isinstance(event, Noted)] == ["S holds steps 100, 200, compared together; S@200 is one of them"]


def test_an_unknown_group_and_an_unknown_step_are_not_found(work: Work, lists: Callable[..., None]) -> None:
    lists("S", [row("t", 1, step=100)])
    with pytest.raises(NotFound, match="group nope does not exist"):
        diff.diff(work, Side("S"), Side("nope"))
    with pytest.raises(NotFound, match="no jobs of step 7"):
        diff.diff(work, Side("S", 7), Side("S"))


def test_jobs_without_a_task_cannot_be_paired(work: Work, old: Documented) -> None:
    old.groups["S"] = [{"job_id": "J9", "reward": 1}]
    with pytest.raises(ApiError, match="J9 in the list of S has no task_id"):
        diff.diff(work, Side("S"), Side("S"))


def test_a_list_of_capped_pages_is_read_to_its_end(work: Work, old: Documented, lists: Callable[..., None]) -> None:
    lists("S", [row(f"t{number}", number % 2) for number in range(25)])
    old.cap = 4
    found = diff.diff(work, Side("S"), Side("S"))
    assert (found.a.jobs, found.counts["both"], found.counts["neither"]) == (25, 12, 13)


@pytest.mark.parametrize("level", [0, 1, 2.5])
def test_a_level_outside_of_0_to_1_is_a_usage_error(work: Work, level: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        diff.diff(work, Side("G1"), Side("G2"), significance=level)
