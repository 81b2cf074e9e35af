"""McNemar's test against values worked out by hand and against scipy, the bootstrap, and their symmetries."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from benchloop_client.contract.comparison.paired import LEAST_RESAMPLES, RESAMPLES, bootstrap_mean, least_p, mcnemar

counts = st.integers(0, 300)
differences = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]) | st.floats(-1e6, 1e6), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),  # 2 * 1/2
        (5, 0, 2 / 32),
        (6, 0, 2 / 64),
        (0, 6, 2 / 64),
        (1, 7, 2 * (1 + 8) / 256),
        (2, 10, 2 * (1 + 12 + 66) / 4096),
        (3, 9, 2 * (1 + 12 + 66 + 220) / 4096),
        (4, 4, 1.0),
        (5, 6, 1.0),  # 2 * 1024/2048
    ],
)
def test_mcnemar_is_what_the_binomial_says(lost: int, won: int, p: float) -> None:
    assert mcnemar(lost, won) == pytest.approx(p, rel=1e-15)


@given(lost=counts, won=counts)
def test_mcnemar_is_scipys_exact_test(lost: int, won: int) -> None:
    expected = binomtest(lost, lost + won, 0.5).pvalue if lost + won else 1.0
    assert mcnemar(lost, won) == pytest.approx(expected, rel=1e-9)


@given(lost=counts, won=counts)
def test_mcnemar_is_the_whole_sum_of_the_binomial(lost: int, won: int) -> None:
    n = lost + won
    tail = sum(math.comb(n, k) for k in range(min(lost, won) + 1))
    assert mcnemar(lost, won) == min(1.0, 2 * tail / 2**n)


@given(lost=counts, won=counts)
def test_mcnemar_does_not_care_which_side_is_which(lost: int, won: int) -> None:
    assert mcnemar(lost, won) == mcnemar(won, lost)
    assert 0 <= mcnemar(lost, won) <= 1


def test_mcnemar_of_a_hundred_thousand_tasks_ends_and_underflows_to_zero() -> None:
    assert 0 < mcnemar(50_000, 49_000) < 0.01
    assert mcnemar(100_000, 0) == 0.0


def test_counts_are_not_negative() -> None:
    with pytest.raises(ValueError, match="not negative"):
        mcnemar(-1, 2)


def test_the_least_p_is_that_of_a_clean_sweep() -> None:
    assert [least_p(n) for n in (0, 1, 5, 6)] == [1.0, 1.0, 2 / 32, 2 / 64]
    assert all(least_p(n) == mcnemar(n, 0) for n in range(1, 60))


def test_no_pairs_no_interval() -> None:
    assert bootstrap_mean([]) is None


@pytest.mark.parametrize("level", [0, 1, -0.5, 2])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        bootstrap_mean([1.0], level=level)


@given(values=differences, seed=st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_the_interval_holds_its_mean_and_depends_on_the_seed_alone(values: list[float], seed: int) -> None:
    found = bootstrap_mean(values, seed=seed)
    shuffled = list(values)
    random.Random(1).shuffle(shuffled)
    assert found == bootstrap_mean(shuffled, seed=seed)
    assert found is not None
    assert found.pairs == len(values)
    assert min(values) - 1e-6 <= found.low <= found.high <= max(values) + 1e-6
    assert found.mean == pytest.approx(math.fsum(values) / len(values))


@given(values=differences)
@settings(max_examples=25, deadline=None)
def test_turned_signs_turn_the_interval(values: list[float]) -> None:
    found, turned = bootstrap_mean(values), bootstrap_mean([-value for value in values])
    assert found is not None
    assert turned is not None
    assert (turned.low, turned.high) == (-found.high, -found.low)
    assert turned.mean == pytest.approx(-found.mean)


def test_another_seed_gives_another_interval() -> None:
    values = [random.Random(7).gauss(0, 1) for _ in range(30)]
    first, second = bootstrap_mean(values, seed=1), bootstrap_mean(values, seed=2)
    assert first is not None
    assert second is not None
    assert first != second
    assert abs(first.low - second.low) < 0.1


def test_both_ways_of_drawing_agree_with_the_normal_interval() -> None:
    draws = random.Random(3)
    few = [draws.choice([-1.0, 0.0, 0.0, 1.0, 1.0]) for _ in range(400)]
    for values in (few, [value + draws.random() * 1e-3 for value in few]):
        mean = math.fsum(values) / len(values)
        error = math.sqrt(math.fsum((value - mean) ** 2 for value in values)) / len(values)
        found = bootstrap_mean(values)
        assert found is not None
        assert found.low == pytest.approx(mean - 1.96 * error, abs=0.15 * error)
        assert found.high == pytest.approx(mean + 1.96 * error, abs=0.15 * error)


def test_a_wider_level_is_a_wider_interval() -> None:
    values = [float(value) for value in (-1, 0, 0, 1, 1, 1, -1, 0)]
    narrow, wide = bootstrap_mean(values, level=0.5), bootstrap_mean(values, level=0.99)
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low <= narrow.high < wide.high


def test_many_pairs_of_few_values_take_all_resamples_and_many_of_many_values_take_fewer() -> None:
    few = bootstrap_mean([0.0, 1.0] * 20_000)
    many = bootstrap_mean([value / 7 for value in range(20_000)])
    assert few is not None
    assert many is not None
    assert few.resamples == RESAMPLES
    assert LEAST_RESAMPLES <= many.resamples < RESAMPLES


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draws = random.Random(11)
    covered = 0
    for _ in range(200):
        found = bootstrap_mean([draws.choice([-1.0, 0.0, 0.0, 1.0]) for _ in range(60)])
        covered += found is not None and found.low <= 0 <= found.high
    assert 180 <= covered <= 199
