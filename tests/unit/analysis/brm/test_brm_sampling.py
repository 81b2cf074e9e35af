"""Whole tasks are drawn, those with unequal rewards first, and weights put the group together again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchloop_analysis.brm.sampling import Row, choose, seed_of


def rows(tasks: int, *, mixed: int, attempts: int = 8, steps: tuple[int | None, ...] = (None,)) -> list[Row]:
    return [
        Row(f"{task}-{step}-{attempt}", f"task {task}", float(attempt % 2 and task < mixed), None, step)
        for task in range(tasks)
        for step in steps
        for attempt in range(attempts)
    ]


def test_a_small_group_is_taken_whole() -> None:
    given = rows(10, mixed=4)
    found = choose(given, size=512, seed=1)
    assert found.job_ids == tuple(row.job_id for row in given)
    assert set(found.weights) == {1.0}
    assert choose(given, size=None, seed=1).job_ids == found.job_ids


def test_whole_tasks_mixed_ones_first_and_a_reserve_for_the_others() -> None:
    found = choose(rows(500, mixed=200), size=512, seed=7)
    counts = Counter(name.split("-")[0] for name in found.job_ids)
    assert set(counts.values()) == {8}
    (record,) = found.records
    assert (record.jobs, record.tasks, record.mixed_tasks, record.of_mixed_tasks) == (512, 64, 56, 200)
    assert sum(found.weights) == pytest.approx(4_000)


def test_weighted_means_are_those_of_the_group() -> None:
    given = rows(300, mixed=60)
    truth = np.mean([row.reward for row in given])
    means = []
    for seed in range(40):
        found = choose(given, size=160, seed=seed)
        rewards = {row.job_id: row.reward for row in given}
        means.append(np.average([rewards[name] or 0.0 for name in found.job_ids], weights=found.weights))
    assert np.mean(means) == pytest.approx(truth, abs=0.005)


def test_an_invalid_reward_mixes_nothing() -> None:
    given = [Row("a", "t", 0.0, None), Row("b", "t", 1.0, False), Row("c", "t", None, None)]
    assert choose(given, size=8, seed=1).records[0].of_mixed_tasks == 0


def test_steps_share_their_tasks_where_they_can() -> None:
    found = choose(rows(400, mixed=200, steps=(1, 2, 3)), size=128, seed=3)
    by_step = [{name.split("-")[0] for name in found.job_ids if name.split("-")[1] == step} for step in "123"]
    assert by_step[0] == by_step[1] == by_step[2]
    assert [record.jobs for record in found.records] == [128, 128, 128]


def test_steps_with_other_tasks_are_filled_too() -> None:
    given = [Row(f"{task}-{attempt}", f"t{task}", float(attempt % 2), None, task % 4) for task in range(400) for attempt in range(4)]
    assert [record.jobs for record in choose(given, size=64, seed=3).records] == [64] * 4


def test_the_same_seed_draws_the_same_whatever_the_order() -> None:
    given = rows(200, mixed=90)
    again = choose(list(reversed(given)), size=100, seed=5)
    assert sorted(again.job_ids) == sorted(choose(given, size=100, seed=5).job_ids)
    assert sorted(again.job_ids) != sorted(choose(given, size=100, seed=6).job_ids)
    assert seed_of("G", [2, 1]) == seed_of("G", [1, 2]) != seed_of("G", [1])


def test_one_large_task_is_not_cut() -> None:
    given = [Row(str(place), "t", float(place % 2), None) for place in range(50)]
    assert len(choose(given, size=10, seed=1).job_ids) == 50
    with pytest.raises(ValueError, match="sample of 0"):
        choose(given, size=0, seed=1)
