"""Corrections, trends, scores and resampling against statsmodels, scikit-learn and arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss, roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from benchloop_analysis.brm.shares import mean
from benchloop_analysis.statistics import multiple, power, quality, resample, ridge
from benchloop_analysis.statistics.strata import Strata
from benchloop_analysis.statistics.trend import trend, unstratified


@pytest.mark.parametrize("seed", range(4))
def test_q_is_that_of_statsmodels(seed: int) -> None:
    p = np.random.default_rng(seed).random(30) ** 2
    assert multiple.benjamini_hochberg(list(p)) == pytest.approx(multipletests(p, method="fdr_bh")[1], abs=1e-12)
    assert multiple.benjamini_hochberg([]) == []


def test_shrinkage_leaves_nothing_of_noise_and_most_of_what_is_sure() -> None:
    random = np.random.default_rng(1)
    noise = random.normal(0, 0.1, 400)
    assert multiple.shrinkage(noise, np.full(400, 0.15)).max() == 0.0
    true = random.normal(0, 0.3, 400)
    assert multiple.shrinkage(true + noise, np.full(400, 0.1)) == pytest.approx(np.full(400, 0.9), abs=0.03)
    assert np.isnan(multiple.shrinkage(np.array([0.1, np.nan]), np.array([0.0, 0.1]))).all()


@pytest.mark.parametrize(("count", "of"), [(0, 9), (3, 9), (9, 9), (1, 400)])
def test_a_share_of_jobs_of_different_tasks_has_wilson_s_interval(count: int, of: int) -> None:
    values = np.r_[np.ones(count), np.zeros(of - count)]
    found = mean(values, np.ones(of), np.arange(of), 1.959963984540054)
    low, high = proportion_confint(count, of, method="wilson")
    assert found.low is not None and found.high is not None
    if count in (0, of):
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)
    else:  # the variance is estimated with n - 1
        worth = of - 1
        assert (found.low, found.high) == pytest.approx(proportion_confint(worth * count / of, worth, method="wilson"), abs=1e-6)


def test_attempts_that_agree_are_worth_one() -> None:
    each = mean(np.repeat([1.0, 0, 1, 0, 0, 1, 0, 0], 1), np.ones(8), np.arange(8), 1.96)
    four = mean(np.repeat([1.0, 0, 1, 0, 0, 1, 0, 0], 4), np.ones(32), np.repeat(np.arange(8), 4), 1.96)
    assert (four.low, four.high) == pytest.approx((each.low, each.high), abs=1e-9)


def test_cochran_armitage_is_the_linear_by_linear_test() -> None:
    random = np.random.default_rng(2)
    step, shown = random.integers(0, 5, 200).astype(float), random.integers(0, 2, 200).astype(float)
    found = unstratified(shown, step)
    r = np.corrcoef(step, shown)[0, 1]
    assert found.p == pytest.approx(stats.chi2.sf(199 * r**2, 1), abs=1e-9)
    assert found.per_step == pytest.approx(stats.linregress(step, shown).slope, abs=1e-9)


def test_a_trend_of_tasks_is_no_trend_within_them() -> None:
    task = np.repeat([0, 1, 2], 20)
    step = task + np.tile([0.0, 1.0], 30)  # later steps have other tasks, which show it more
    shown = (np.tile(np.repeat(np.arange(10), 2), 3) < 1 + 4 * task).astype(float)
    assert (unstratified(shown, step).p or 1) < 0.01
    assert trend(shown, step, Strata.of(task)).per_step == pytest.approx(0.0)
    assert trend(shown, np.zeros(60), Strata.of(task)).p is None


@pytest.mark.parametrize("ties", [False, True])
def test_pairs_in_the_right_order_are_those_of_scikit_learn(ties: bool) -> None:
    random = np.random.default_rng(3)
    task = np.repeat(np.arange(6), 12)
    reward = random.integers(0, 2, 72).astype(float)
    score = np.round(random.random(72), 1 if ties else 9)
    found = quality.ordered_pairs(score, reward, Strata.of(task))
    for place in range(6):
        mine = task == place
        assert found.right[place] / found.all[place] == pytest.approx(roc_auc_score(reward[mine], score[mine]), abs=1e-9)
    slow = quality._pair_by_pair(score, reward, Strata.of(task))
    assert slow.right == pytest.approx(found.right) and slow.all == pytest.approx(found.all)


def test_calibration_is_arithmetic() -> None:
    predicted, outcome = np.array([0.1, 0.1, 0.9, 0.9]), np.array([0.0, 1, 1, 1])
    found = quality.calibration(predicted, outcome, bins=2)
    assert found is not None
    assert found.ece == pytest.approx((0.4 + 0.1) / 2)
    assert found.brier == pytest.approx(brier_score_loss(outcome, predicted))
    assert quality.calibration(np.zeros(0), np.zeros(0)) is None


def test_choosing_the_best_of_n() -> None:
    found = quality.best_of_n(np.array([1.0, 2, 2, 5, 1]), np.array([0.0, 1, 0, 0, 1]), Strata.of(np.array([0, 0, 0, 1, 1])))
    assert found.gained == pytest.approx([0.5 - 1 / 3, -0.5])
    assert found.possible == pytest.approx([1 - 1 / 3, 0.5])


def test_ridge_is_the_closed_form_and_shrinks_noise_away() -> None:
    random = np.random.default_rng(4)
    columns = random.normal(size=(200, 5))
    outcome = columns @ np.array([1.0, 0, 0, 0, -1]) + random.normal(size=200)
    found = ridge.fit(ridge.Columns.of(columns, lost=10), outcome[:, None])
    closed = np.linalg.solve(columns.T @ columns + found.penalty[0] * 190 * np.eye(5), columns.T @ outcome)
    assert found.coefficients[:, 0] == pytest.approx(closed, abs=1e-9)
    noise = ridge.fit(ridge.Columns.of(columns, lost=10), random.normal(size=(200, 50)))
    assert np.median(noise.penalty) > found.penalty[0]


def test_the_bootstrap_is_over_tasks_and_repeats_for_a_seed() -> None:
    above, below = np.array([[0.0], [4], [0], [4]]), np.full((4, 1), 4.0)
    drawn = resample.ratios(above, below, resamples=4_000, seed=1)
    assert drawn.std() == pytest.approx(0.25, abs=0.01)
    assert (drawn == resample.ratios(above, below, resamples=4_000, seed=1)).all()


def test_smallest_effect_and_power_say_the_same() -> None:
    odds = power.smallest_odds_ratio(12.0)
    assert odds is not None
    assert power.power_of(np.log(odds), 12.0) == pytest.approx(0.80, abs=1e-4)
    assert power.smallest_effect(0.0, 5.0) is None and power.smallest_odds_ratio(0.0) is None
