"""The exact distribution over tables: scipy's for one, brute force for a few, and the same by either route."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from benchloop_analysis.statistics import exact, permutation
from benchloop_analysis.statistics.strata import Strata


def test_one_table_is_hypergeometric() -> None:
    found = exact.sum_of_tables(np.array([5]), np.array([7]), np.array([12]))
    expected = stats.hypergeom(12, 7, 5).pmf(np.arange(found.lowest, found.lowest + len(found.chances)))
    assert found.chances == pytest.approx(expected, abs=1e-12)


def test_two_sided_mid_p_of_a_symmetric_table_is_that_of_scipy_less_half_the_tie() -> None:
    found = exact.sum_of_tables(np.array([6]), np.array([6]), np.array([12]))
    fisher = stats.fisher_exact([[5, 1], [1, 5]]).pvalue
    as_far = stats.hypergeom(12, 6, 6).pmf([1, 5]).sum()
    assert found.mid_p(5) == pytest.approx(fisher - as_far / 2, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_several_tables_by_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(3, 7, 4)
    shown, passed = random.integers(1, sizes), random.integers(1, sizes)
    found = exact.sum_of_tables(shown, passed, sizes)
    counts: dict[int, float] = {}
    tables = [stats.hypergeom(size, ok, with_it) for size, ok, with_it in zip(sizes, passed, shown, strict=True)]
    for each in product(*(range(8) for _ in tables)):
        counts[sum(each)] = counts.get(sum(each), 0.0) + float(np.prod([table.pmf(a) for table, a in zip(tables, each, strict=True)]))
    assert found.chances == pytest.approx([counts[found.lowest + place] for place in range(len(found.chances))], abs=1e-9)


def test_many_tables_are_the_same_by_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    sizes = random.integers(4, 9, 300)
    shown, passed = random.integers(1, sizes), random.integers(1, sizes)
    direct = exact.sum_of_tables(shown, passed, sizes)
    monkeypatch.setattr(exact, "_DIRECT", 1)
    turned = exact.sum_of_tables(shown, passed, sizes)
    assert turned.lowest == direct.lowest
    assert turned.chances == pytest.approx(direct.chances, abs=1e-12)
    assert turned.mid_p(direct.mean + 9) == pytest.approx(direct.mid_p(direct.mean + 9), abs=1e-9)


def test_drawing_arrangements_comes_to_the_exact_p() -> None:
    random = np.random.default_rng(8)
    task = np.repeat(np.arange(30), 6)
    x, y = random.integers(0, 2, 180).astype(float), random.integers(0, 2, 180).astype(float)
    y[::5] = x[::5]
    strata = Strata.of(task)
    rows = strata.centred(x)
    sums = exact.sum_of_tables(*(np.rint(part).astype(int) for part in (strata.sums(x), strata.sums(y), strata.sizes)))
    p, method = permutation.permutation_p(rows, y, strata, draws=20_000, seed=1)
    expected = sums.mid_p(float((x * y).sum()))
    assert method == "permutation" and p is not None
    assert p == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 20_000))
    assert permutation.normal_p(permutation.score(rows, y, strata)) == pytest.approx(expected, rel=0.1)


def test_shuffling_stays_within_strata_and_repeats_for_a_seed() -> None:
    task = np.repeat(np.arange(3), 4)
    reward = np.array([1.0, 0, 0, 0, 5, 5, 5, 5, 0, 0, 0, 9])
    only_first = np.where(task == 0, 1.0, 0.0)
    assert set(permutation.shuffled_sums(only_first, reward, task, draws=50, seed=3)) == {1.0}
    rows = np.arange(12.0)
    assert (
        permutation.shuffled_sums(rows, reward, task, draws=9, seed=3) == permutation.shuffled_sums(rows, reward, task, draws=9, seed=3)
    ).all()
