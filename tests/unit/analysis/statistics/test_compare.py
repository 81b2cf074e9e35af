"""One definition of the effect: the risk difference, a difference of means and Somers' D are its cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchloop_analysis.statistics.compare import Options, Rows, adjusted, compare, tables_of
from benchloop_analysis.statistics.mantel import risk_difference
from benchloop_analysis.statistics.strata import Strata, scores


def rows(seed: int, *, tasks: int = 20, attempts: int = 6, ratio: bool = False, continuous: bool = False) -> Rows:
    random = np.random.default_rng(seed)
    task = np.repeat(np.arange(tasks), attempts)
    behaviour = random.random(len(task)) if ratio else random.integers(0, 2, len(task)).astype(float)
    reward = random.normal(size=len(task)) if continuous else random.integers(0, 2, len(task)).astype(float)
    return Rows(behaviour, reward, task, task, np.ones(len(task)))


def test_yes_and_no_is_the_risk_difference() -> None:
    given = rows(1)
    found = compare(given, Options())
    assert found.value == pytest.approx(risk_difference(tables_of(given, Strata.of(given.stratum))), abs=1e-12)
    assert found.p_method == "exact" and found.odds_ratio is not None


@pytest.mark.parametrize("ties", [False, True])
def test_a_ratio_in_one_task_is_somers_d(ties: bool) -> None:
    given = rows(2, tasks=1, attempts=40, ratio=True)
    if ties:
        given = replace(given, behaviour=np.round(given.behaviour * 4) / 4)
    expected = stats.somersd(given.behaviour, given.reward).statistic
    assert compare(given, Options()).value == pytest.approx(expected, abs=1e-9)


def test_a_continuous_reward_is_the_weighted_difference_of_means() -> None:
    given = rows(3, continuous=True)
    above = below = 0.0
    for task in range(20):
        mine = given.stratum == task
        with_it, without = given.reward[mine & (given.behaviour == 1)], given.reward[mine & (given.behaviour == 0)]
        if len(with_it) and len(without):
            weight = len(with_it) * len(without) / mine.sum()
            above, below = above + weight * (with_it.mean() - without.mean()), below + weight
    found = compare(given, Options())
    assert found.value == pytest.approx(above / below, abs=1e-12)
    assert found.p_method == "permutation" and found.odds_ratio is None


def test_mid_ranks_are_those_of_scipy() -> None:
    given = rows(4, ratio=True)
    values = np.round(given.behaviour, 1)
    found = scores(values, Strata.of(given.stratum))
    for task in range(20):
        mine = given.stratum == task
        ranks = stats.rankdata(values[mine])
        assert found.rows[mine] == pytest.approx(2 * (ranks - ranks.mean()) / mine.sum(), abs=1e-12)


def test_adjusting_is_a_regression_with_two_columns() -> None:
    given = rows(5)
    other = np.random.default_rng(6).random(len(given.reward)) + given.behaviour
    tasks = np.column_stack([given.stratum == task for task in range(20)])
    expected = np.linalg.lstsq(np.column_stack([given.behaviour, other, tasks]), given.reward, rcond=None)[0][0]
    assert adjusted(given, other) == pytest.approx(expected, abs=1e-9)
    assert adjusted(given, given.behaviour) is None
    assert adjusted(given, np.ones(len(other))) == pytest.approx(compare(given, Options()).value, abs=1e-12)


def test_tasks_weigh_as_they_are_told() -> None:
    given = rows(7)
    twice = np.where(given.stratum < 5, 2.0, 1.0)
    doubled = np.concatenate([np.arange(len(twice)), np.flatnonzero(given.stratum < 5)])
    again = np.concatenate([given.stratum, given.stratum[given.stratum < 5] + 100])
    expected = compare(Rows(given.behaviour[doubled], given.reward[doubled], again, again, np.ones(len(again))), Options())
    assert compare(replace(given, weight=twice), Options()).value == pytest.approx(expected.value, abs=1e-12)


@pytest.mark.parametrize("ratio", [False, True])
def test_what_never_differs_tells_nothing(ratio: bool) -> None:
    given = rows(8, ratio=ratio)
    same = compare(replace(given, behaviour=np.full(len(given.reward), 0.5 if ratio else 1.0)), Options())
    assert (same.value, same.p, same.informative_strata) == (None, None, 0)
    all_passed = compare(replace(given, reward=np.ones(len(given.reward))), Options())
    assert (all_passed.value, all_passed.p, all_passed.informative_strata) == (pytest.approx(0.0, abs=1e-12), None, 0)
    assert compare(given.only(np.zeros(len(given.reward), dtype=bool)), Options()).value is None


def test_only_the_steps_between_tasks_are_ignored() -> None:
    given = rows(9)
    harder = given.reward + 100.0 * given.stratum
    assert compare(replace(given, reward=harder), Options()).value == pytest.approx(compare(given, Options()).value, abs=1e-9)
