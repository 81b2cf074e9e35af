"""Mining, ranking, categories, the model and the words of a summary, each by itself."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from benchloop_analysis.brm import mining, ranking
from benchloop_analysis.brm.columns import Options, Outcome, catalogue_columns
from benchloop_analysis.brm.model import fitted
from benchloop_analysis.brm.records import Counts
from benchloop_analysis.brm.study import study
from benchloop_analysis.brm.summary import sentence
from tests.unit.analysis.brm import planted

QUICK = Options(seed=4, permutations=200, resamples=200)


def test_places_of_a_row_of_actions() -> None:
    assert list(mining.positions("abababa", "aba")) == [0, 2, 4]
    assert list(mining.positions("abc", "x")) == [] == list(mining.positions("abc", ""))


def test_what_is_mined_does_not_know_the_rewards_that_it_is_tested_on() -> None:
    jobs = planted.jobs(40, 6)
    outcome = Outcome.of(planted.table(jobs))
    mined = mining.mine(outcome, QUICK)
    tested = ~np.isnan(mined.columns[0].values)
    tasks = outcome.table.task
    assert not set(tasks[tested]) & set(tasks[~tested])
    other = [replace(job, reward=1.0 - (job.reward or 0.0)) if tested[place] else job for place, job in enumerate(jobs)]
    again = mining.mine(Outcome.of(planted.table(other)), QUICK)
    assert [column.actions for column in again.columns] == [column.actions for column in mined.columns]
    assert mined.found_on == mined.tested_on == 20


def test_rare_and_constant_rows_of_actions_are_not_looked_at() -> None:
    jobs = [
        replace(job, features=msgspec.structs.replace(job.features, actions="zz" if place % 40 == 0 else "rrw"))
        for place, job in enumerate(planted.jobs(40, 6))
    ]
    assert mining.mine(Outcome.of(planted.table(jobs)), QUICK).columns == []


def test_phi_is_that_of_numpy_where_both_apply() -> None:
    random = np.random.default_rng(1)
    one, other = random.integers(0, 2, 300).astype(np.float32), random.random(300).astype(np.float32)
    other[:50] = np.nan
    found = ranking.correlations([one, other, np.ones(300, dtype=np.float32)])
    assert found[0, 1] == pytest.approx(np.corrcoef(one[50:], other[50:])[0, 1], abs=1e-4)
    assert found[0, 2] == 0.0


def test_a_model_on_shuffled_rewards_is_silent() -> None:
    random = np.random.default_rng(2)
    jobs = planted.jobs(40, 6, strength=0.0)
    silent = 0
    for seed in range(12):
        order = np.concatenate([task * 6 + random.permutation(6) for task in range(40)])
        shuffled = [replace(job, reward=jobs[order[place]].reward) for place, job in enumerate(jobs)]
        table = planted.table(shuffled)
        found = fitted(catalogue_columns(table, None), Outcome.of(table), replace(QUICK, seed=seed))
        silent += not found.predicts
        assert found.predicts or (found.job_scores == () and "do not predict" in found.says)
    assert silent >= 11


def test_few_tasks_have_no_model() -> None:
    table = planted.table(planted.jobs(12, 4))
    found = fitted(catalogue_columns(table, None), Outcome.of(table), QUICK)
    assert not found.predicts and found.auc is None and "it takes 20 such tasks" in found.says


def test_impact_of_nothing_is_about_nothing() -> None:
    impacts = []
    for seed in range(6):
        scores = study(planted.table(planted.jobs(40, 6, strength=0.0, seed=seed)), QUICK).category_scores
        impacts += [one.impact for one in scores if one.impact is not None]  # what is only seen at the end does not count
    assert abs(np.mean(impacts)) < 0.01


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        (Counts(), "No behaviour could be compared"),
        (
            Counts(pooled_significant=15, pooled_tested=16, no_evidence=6, tested=6),
            "15 of 16 behaviours look significant (p < 0.05); compared between",
        ),
        (Counts(pooled_significant=1, pooled_tested=4, within_significant=1, supported=1, tested=1), "the same task, 1 does."),
        (Counts(pooled_significant=9, pooled_tested=9, tested=4), "none do: what looked like behaviour was which tasks are hard."),
        (Counts(pooled_significant=2, pooled_tested=9, insufficient=9), "the same task, nothing can be said"),
    ],
)
def test_the_sentence(counts: Counts, says: str) -> None:
    assert says in sentence(counts)


def test_a_newcomer_reads_what_was_compared_and_what_could_not_be_seen() -> None:
    text = study(planted.table(planted.jobs(30, 6)), QUICK).summary.markdown
    assert text.index("## What was compared") < text.index("## What could have been seen") < text.index("## Behaviours")
    for part in (
        "different tasks are never compared",
        "of the 30 tasks have attempts with unequal rewards",
        "With 80 % power",
        "never “causes”",
    ):
        assert part in text


def test_hostile_names_stay_text() -> None:
    evil = "](http://x)<script>"
    jobs = [replace(job, job_id=f"{job.job_id}{evil}", model=evil) for job in planted.jobs(24, 4)]
    text = study(planted.table(jobs), QUICK).summary.markdown
    assert "<script>" not in text
