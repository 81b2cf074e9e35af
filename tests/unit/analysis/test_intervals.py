"""Wilson's interval and pass@k against what they are defined to be."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchloop_analysis.intervals import Rate, ks, pass_at_k, pass_rates
from benchloop_analysis.wilson import wilson


@settings(deadline=None)
@given(st.integers(1, 300).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilson_is_scipys(counts: tuple[int, int]) -> None:
    expected = stats.binomtest(*counts).proportion_ci(0.95, method="wilson")
    assert wilson(*counts) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_has_no_interval() -> None:
    assert wilson(0, 0) is None
    rate = Rate.of_counts(0, 0)
    assert (rate.value, rate.low, rate.high) == (None, None, None)
    with pytest.raises(ValueError, match="3 of 2"):
        Rate.of_counts(3, 2)


@pytest.mark.parametrize(("attempts", "passed", "k"), [(5, 2, 1), (5, 2, 3), (6, 0, 2), (6, 6, 4), (4, 3, 2), (7, 1, 7)])
def test_pass_at_k_counts_all_choices(attempts: int, passed: int, k: int) -> None:
    choices = list(combinations([True] * passed + [False] * (attempts - passed), k))
    assert pass_at_k(attempts, passed, k) == pytest.approx(sum(map(any, choices)) / len(choices))


def test_pass_at_k_of_many_attempts() -> None:
    expected = 1 - math.comb(900, 50) / math.comb(1000, 50)
    assert pass_at_k(1000, 100, 50) == pytest.approx(expected)


def test_ks_end_with_the_most_attempts() -> None:
    assert ks(0) == () and ks(3) == (1, 2, 3) and ks(12) == (1, 2, 3, 4, 5, 8, 12)


def test_only_tasks_with_enough_attempts_count() -> None:
    rates = pass_rates([(1, 1), (4, 1), (4, 0), (0, 0)])
    assert [(one.k, one.tasks) for one in rates] == [(1, 3), (2, 2), (3, 2), (4, 2)]
    assert rates[0].value == pytest.approx((1 + 0.25 + 0) / 3)


def test_the_bootstrap_is_seeded_and_covers_its_value() -> None:
    tasks = [(4, number % 5) for number in range(40)]
    one, again = pass_rates(tasks, seed=7), pass_rates(tasks, seed=7)
    assert one == again and one != pass_rates(tasks, seed=8)
    for rate in one:
        assert rate.low is not None and rate.high is not None and rate.method is not None
        assert rate.low <= rate.value <= rate.high and "bootstrap over tasks" in rate.method


def test_the_bootstrap_has_the_width_of_theory() -> None:
    (rate,) = pass_rates([(1, number % 2) for number in range(400)])
    assert rate.low is not None and rate.high is not None
    assert rate.high - rate.low == pytest.approx(2 * 1.96 * 0.5 / 20, rel=0.1)


def test_where_all_tasks_agree_the_interval_is_no_point() -> None:
    (rate,) = pass_rates([(1, 0)] * 20)
    assert rate.value == 0 and rate.high is not None and rate.high > 0.1 and rate.method is not None and "Wilson" in rate.method
    (single,) = pass_rates([(1, 1)])
    assert (single.low, single.high, single.method) == (None, None, None)
