"""Mantel and Haenszel agree with statsmodels where that is defined, and answer where it does not."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable

from benchloop_analysis.statistics import mantel
from benchloop_analysis.statistics.homogeneity import homogeneity_p
from benchloop_analysis.statistics.mantel import Tables

Z = 1.959963984540054


def random_tables(seed: int, strata: int, most: int) -> Tables:
    random = np.random.default_rng(seed)
    return Tables(*(random.integers(1, most, strata).astype(float) for _ in range(4)))


def theirs(tables: Tables) -> StratifiedTable:
    return StratifiedTable(np.array([[tables.a, tables.b], [tables.c, tables.d]]))


@pytest.mark.parametrize("seed", range(12))
def test_odds_ratio_and_tests_agree(seed: int) -> None:
    tables = random_tables(seed, 2 + 3 * seed, 4 + 5 * seed)
    found, other = mantel.odds_ratio(tables, Z), theirs(tables)
    assert found is not None and found.high is not None
    assert found.value == pytest.approx(other.oddsratio_pooled, abs=1e-6)
    assert (found.low, found.high) == pytest.approx(other.oddsratio_pooled_confint(), abs=1e-6)
    assert mantel.cmh_p(tables) == pytest.approx(other.test_null_odds(correction=False).pvalue, abs=1e-6)
    assert mantel.tarone_p(tables) == pytest.approx(other.test_equal_odds(adjust=True).pvalue, abs=1e-6)


def test_tables_with_nothing_to_tell_change_nothing() -> None:
    tables = random_tables(3, 9, 8)
    dull = [np.array([0.0, 0, 2, 5]), np.array([3.0, 0, 0, 0]), np.array([0.0, 4, 0, 5]), np.array([1.0, 2, 0, 0])]
    more = Tables(*(np.concatenate([part, values]) for part, values in zip((tables.a, tables.b, tables.c, tables.d), dull, strict=True)))
    assert mantel.odds_ratio(more, Z) == mantel.odds_ratio(tables, Z)
    assert mantel.cmh_p(more) == pytest.approx(mantel.cmh_p(tables), abs=1e-12)


@pytest.mark.parametrize("mirrored", [False, True])
def test_an_empty_cell_has_an_answer(mirrored: bool) -> None:
    shown, hidden = ([2.0, 3, 1], [0.0, 0, 0]), ([1.0, 0, 2], [3.0, 4, 2])
    parts = (*hidden, *shown) if mirrored else (*shown, *hidden)
    tables = Tables(*map(np.array, parts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not np.isfinite(theirs(tables).oddsratio_pooled_confint()).all()
    found = mantel.odds_ratio(tables, Z)
    assert found is not None
    if mirrored:
        assert found.low == 0.0 and found.high is not None and 0 < found.value < found.high < 1
    else:
        assert found.high is None and 1 < found.low < found.value < math.inf


def test_the_exact_interval_of_one_table_holds_what_mid_p_does_not_rule_out() -> None:
    tables = Tables(np.array([5.0]), np.array([0.0]), np.array([1.0]), np.array([6.0]))
    found = mantel.odds_ratio(tables, Z)
    assert found is not None
    sums = tables.exact()
    assert sums.tail(5, math.log(found.low)) == pytest.approx(0.025, abs=1e-6)
    assert sums.tail(5, math.log(found.value), half=1.0) == pytest.approx(0.5, abs=1e-6)


def test_the_risk_difference_of_one_table_is_the_difference() -> None:
    tables = Tables(np.array([6.0]), np.array([4.0]), np.array([3.0]), np.array([7.0]))
    assert mantel.risk_difference(tables) == pytest.approx(0.3)
    variance = 0.6 * 0.4 / 10 + 0.3 * 0.7 / 10
    assert mantel.greenland_robins_variance(tables) == pytest.approx(variance)


def test_the_risk_difference_is_the_slope_of_a_regression_on_task_means() -> None:
    random = np.random.default_rng(5)
    tables = random_tables(11, 20, 6)
    rows = [
        (place, shown, passed)
        for place in range(20)
        for shown, passed, cell in ((1, 1, tables.a), (1, 0, tables.b), (0, 1, tables.c), (0, 0, tables.d))
        for _ in range(int(cell[place]))
    ]
    random.shuffle(rows)
    task, x, y = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    columns = np.column_stack([x, *(task == place for place in range(20))])
    assert mantel.risk_difference(tables) == pytest.approx(np.linalg.lstsq(columns, y, rcond=None)[0][0], abs=1e-9)


def test_the_score_interval_is_where_sato_s_test_turns() -> None:
    tables, weights = random_tables(4, 10, 6), np.ones(10)
    low, high = mantel.score_interval(tables, weights, Z) or (0, 0)
    difference = mantel.risk_difference(tables)
    p, q = mantel.sato_parts(tables, weights)
    total = float((tables.shown * tables.hidden / tables.sizes).sum())
    assert difference is not None
    for end in (low, high):
        assert (difference - end) ** 2 / ((end * p + q) / total**2) == pytest.approx(Z**2, abs=1e-6)


def test_nothing_to_compare_is_none() -> None:
    tables = Tables(np.array([3.0, 0]), np.array([1.0, 0]), np.array([0.0, 2]), np.array([0.0, 2]))
    assert mantel.risk_difference(tables) is None
    assert mantel.greenland_robins_variance(tables) is None
    assert mantel.odds_ratio(tables, Z) is None
    assert mantel.cmh_p(tables) is None
    assert mantel.tarone_p(tables) is None
    assert mantel.score_interval(tables, np.ones(2), Z) is None


def test_with_many_rows_a_stratum_both_tests_of_equal_odds_say_the_same() -> None:
    tables = Tables(*(random_tables(6, 6, 9).__dict__[name] + 40 for name in "abcd"))
    assert homogeneity_p(tables) == pytest.approx(mantel.tarone_p(tables), abs=0.05)


def test_what_differs_is_seen_and_what_cannot_differ_is_none() -> None:
    opposite = Tables(*(np.array(values, dtype=float) for values in ([9, 1, 9, 1], [1, 9, 1, 9], [1, 9, 1, 9], [9, 1, 9, 1])))
    assert (homogeneity_p(opposite) or 1) < 1e-4
    assert homogeneity_p(opposite.only(np.array([True, False, False, False]))) is None
    assert homogeneity_p(Tables(np.array([2.0, 3]), np.array([0.0, 0]), np.array([1.0, 0]), np.array([3.0, 4]))) is None
