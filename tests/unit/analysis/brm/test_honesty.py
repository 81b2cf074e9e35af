"""The statistics say what is so at the promised rates: groups with a known truth, and real runs whose rewards were shuffled.

Wider grids: `python -m bench.behaviours`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import behaviour_groups, honesty
from bench.simulated import World
from benchloop_analysis.brm.study import Options, study

_TAU = Path(__file__).resolve().parents[5] / "shared" / "data" / "tau-bench"
needs_tau = pytest.mark.skipif(not _TAU.is_dir(), reason="the shared data is not here")


@pytest.mark.parametrize("world", [World(64, 8), World(50, 4), World(128, 4, shown=-1.5)], ids=lambda world: world.named)
def test_a_behaviour_that_does_nothing_is_called_significant_as_often_as_promised(world: World) -> None:
    found = honesty.false_alarms(world, 1_200, seed=1)
    assert found.of > 1_150
    assert 0.7 * 0.05 <= found.value <= 1.2 * 0.05


def test_ratios_and_continuous_rewards_too() -> None:
    found = [
        honesty.false_alarms(world, 250, seed=1, draws=300) for world in (World(40, 4, kind="ratio"), World(40, 4, reward="continuous"))
    ]
    assert 0.03 <= sum(one.count for one in found) / sum(one.of for one in found) <= 0.07


@pytest.mark.parametrize("world", [World(50, 4, odds=2.5), World(64, 8, odds=2.5, uneven=1.0)], ids=lambda world: world.named)
def test_intervals_hold_the_truth(world: World) -> None:
    assert 0.93 <= honesty.coverage(world, 600, seed=2).value <= 0.97


def test_equal_effects_are_called_unequal_as_often_as_promised() -> None:
    """The usual test does so in a quarter of such groups."""
    assert 0.03 <= honesty.unequal(World(50, 4, odds=2.5), 600, seed=1).value <= 0.07
    assert honesty.unequal(World(50, 4, odds=2.5), 200, seed=1, usual=True).value > 0.15


def test_the_usual_interval_does_not() -> None:
    """Why Greenland and Robins' variance is not used."""
    assert honesty.greenland_robins_coverage(World(50, 4, odds=2.5), 200, seed=2).value < 0.85


def test_what_is_there_is_seen_as_often_as_predicted() -> None:
    found = honesty.seen(World(64, 8, odds=2.5), 50, seed=3)
    assert found.at_q.value == pytest.approx(0.84, abs=0.10)
    assert found.at_q.value == pytest.approx(found.predicted_q, abs=0.10)
    assert found.false <= 0.15


@needs_tau
def test_shuffled_rewards_of_real_runs_give_discoveries_at_the_nominal_rate() -> None:
    found = behaviour_groups.shuffled(_TAU, rounds=40, seed=1)
    assert found.tests > 300 and 0.03 <= found.rate <= 0.06 and found.studies_with_findings <= 0.12


@needs_tau
def test_many_behaviours_look_significant_pooled_and_none_within_the_task() -> None:
    summary = study(behaviour_groups.plausible_table(_TAU), Options(seed=1, resamples=200)).summary
    assert (summary.counts.pooled_significant, summary.counts.pooled_tested, summary.counts.within_significant) == (14, 17, 0)
    assert summary.sentence.startswith(
        "Pooled over all jobs, 14 of 17 behaviours look significant (p < 0.05); compared between attempts at the same task, none do"
    )
    assert (summary.n, summary.tasks, summary.mixed_tasks, summary.informative_jobs) == (200, 50, 26, 104)
