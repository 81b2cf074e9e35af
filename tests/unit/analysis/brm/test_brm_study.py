"""A study finds what was planted, leaves alone what was not, and says what it could not see."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from benchloop_analysis.brm import records
from benchloop_analysis.brm.records import Pattern, Study
from benchloop_analysis.brm.study import Options, study, wanted_examples, with_examples
from tests.unit.analysis.brm import planted

QUICK = Options(seed=4, permutations=500, resamples=200)


@pytest.fixture(scope="module")
def found() -> Study:
    return study(planted.table(planted.jobs()), QUICK)


def by_name(result: Study, name: str) -> Pattern:
    return next(one for one in result.behavior_patterns if one.name == name)


def test_what_helps_is_supported_and_what_only_goes_with_easy_tasks_is_not(found: Study) -> None:
    helps, useless = by_name(found, "helps"), by_name(found, "useless")
    assert helps.status == "supported" and helps.within_task_rd is not None and helps.rd_ci is not None
    assert helps.rd_ci.low is not None and helps.rd_ci.low > 0
    assert useless.status == "no_evidence"
    assert useless.pooled_p is not None and useless.pooled_p < 0.05
    assert found.behavior_patterns[0].id in {"V9", *by_name(found, "helps").same_as}


def test_the_landmark_leaves_out_what_is_only_seen_at_the_end(found: Study) -> None:
    assert by_name(found, "at_the_end").landmark is None
    landmark = by_name(found, "helps").landmark
    assert landmark is not None and landmark.steps == 8 and 0 < landmark.jobs < 512
    assert by_name(found, "helps").landmark_rd == landmark.rd


def test_the_model_knows_no_ending_and_orders_attempts(found: Study) -> None:
    assert "at_the_end" not in {one.name for one in found.model.coefficients}
    assert found.model.coefficients[0].name == "helps"
    assert found.model.predicts and found.model.auc is not None and found.model.auc > 0.6
    assert len(found.model.job_scores) == 512
    assert all(-1 <= one.score <= 1 for one in found.model.job_scores)
    assert found.model.best_of_n_gain is not None and found.model.best_of_n_gain > 0
    assert found.model.brier is not None and found.model.brier_baseline is not None and found.model.brier < found.model.brier_baseline


def test_rows_of_actions_are_found_on_one_half_and_tested_on_the_other(found: Study) -> None:
    mined = [one for one in found.behavior_patterns if one.kind == "mined" and one.actions is not None and "m" in one.actions]
    merged = by_name(found, "helps").same_as
    assert mined or merged
    assert all(one.applicable_tasks == found.provenance.mined_tested_on_tasks for one in mined)
    assert found.provenance.mined_on_tasks + found.provenance.mined_tested_on_tasks == found.summary.tasks == 64


def test_integrity_is_always_listed() -> None:
    result = study(planted.table(planted.jobs(20, 4)), replace(QUICK, scoring_limit=2))
    assert len(result.behavior_patterns) == 2
    assert "I9" in {one.id for one in result.behavior_patterns}
    assert result.patterns_total >= 5


def test_no_more_than_eight_of_a_category(found: Study) -> None:
    counts = [
        sum(one.category == category for one in found.behavior_patterns) for category in {one.category for one in found.behavior_patterns}
    ]
    assert max(counts) <= 8 and len(found.behavior_patterns) <= 32


def test_the_same_table_and_seed_give_the_same_bytes(found: Study) -> None:
    again = study(planted.table(planted.jobs()), QUICK)
    assert records.to_json(again) == records.to_json(found)
    assert msgspec.json.decode(records.to_json(found), type=Study) == found


def test_the_fields_have_the_names_that_are_promised(found: Study) -> None:
    pattern = msgspec.to_builtins(by_name(found, "helps"))
    assert {
        "id",
        "category",
        "kind",
        "definition",
        "applicable_n",
        "prevalence_pass",
        "prevalence_fail",
        "within_task_rd",
        "or",
        "p",
        "q",
    } <= set(pattern)
    assert {"informative_tasks", "status", "examples", "counter_examples", "pooled_rd", "landmark"} <= set(pattern)


def test_categories_have_two_numbers(found: Study) -> None:
    scores = {one.category: one for one in found.category_scores}
    assert list(scores) == ["verification", "exploration", "efficiency", "integrity"]
    practice = scores["verification"]
    assert practice.practice is not None and practice.practice_ci is not None and practice.practice_ci.low is not None
    assert 0 < practice.practice_ci.low < practice.practice < (practice.practice_ci.high or 0) < 100
    assert practice.impact is not None and practice.impact < 0 and practice.status == "supported"


def test_examples_are_of_one_task_with_unequal_rewards(found: Study) -> None:
    helps = by_name(found, "helps")
    assert len(helps.examples) == len(helps.counter_examples) == 3
    for one, other in zip(helps.examples, helps.counter_examples, strict=True):
        assert one.task == other.task and {one.outcome, other.outcome} == {"pass", "fail"}
    wanted = wanted_examples(found)
    assert ("V9", helps.examples[0].job) in wanted
    shown = with_examples(found, {("V9", helps.examples[0].job): (3, 5), ("V9", "nobody"): (1,)})
    assert by_name(shown, "helps").examples[0].steps == (3, 5)
    assert by_name(shown, "helps").examples[1].steps == ()


def test_progress_is_told_and_may_end_the_study() -> None:
    told: list[tuple[int, int]] = []
    study(planted.table(planted.jobs(10, 4)), QUICK, progress=lambda done, of: told.append((done, of)))
    assert [done for done, _ in told] == list(range(1, told[-1][1] + 1))

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(planted.table(planted.jobs(10, 4)), QUICK, progress=stop)


def test_invalid_rewards_are_left_out_counted_and_counted_as_failures_beside() -> None:
    jobs = planted.jobs(30, 6)
    spoilt = [
        replace(job, reward=0.0, reward_valid=False) if job.features.values[0] and place % 3 == 0 else job for place, job in enumerate(jobs)
    ]
    result = study(planted.table(spoilt), QUICK)
    helps = by_name(result, "helps")
    assert result.summary.invalid_n == sum(job.reward_valid is False for job in spoilt) > 0
    assert result.summary.valid_n + result.summary.invalid_n == result.summary.n
    assert helps.rd_if_invalid_failed is not None and helps.within_task_rd is not None
    assert helps.rd_if_invalid_failed < helps.within_task_rd - 0.1
    assert any("invalid reward" in warning for warning in result.summary.warnings)
    assert by_name(study(planted.table(jobs), QUICK), "helps").rd_if_invalid_failed is None


def test_continuous_rewards_are_compared_too() -> None:
    result = study(planted.table(planted.jobs(reward="continuous")), QUICK)
    helps = by_name(result, "helps")
    assert result.summary.outcome == "continuous" and helps.odds_ratio is None
    assert helps.status == "supported" and helps.p_method == "permutation"
    assert "points" not in result.summary.markdown.split("## How to read")[0]


@pytest.mark.parametrize("reward", [0.0, 1.0, None])
def test_without_unequal_rewards_nothing_is_said(reward: float | None) -> None:
    jobs = [replace(job, reward=reward) for job in planted.jobs(12, 4)]
    result = study(planted.table(jobs), QUICK)
    assert result.summary.mixed_tasks == 0 and result.summary.smallest_effect is None
    assert {one.status for one in result.behavior_patterns} == {"not_applicable" if reward is None else "insufficient"}
    assert not result.model.predicts and result.model.job_scores == ()
    assert "nothing" in result.summary.markdown.lower()


def test_an_empty_group_has_a_result() -> None:
    result = study(planted.table([]), QUICK)
    assert result.summary.n == 0 and {one.status for one in result.behavior_patterns} <= {"not_applicable"}
    records.to_json(result)


def test_a_task_of_one_attempt_each_tells_nothing() -> None:
    jobs = [planted.job(f"j{place}", f"t{place}", float(place % 2), (float(place % 2), 1.0, 0.5, 0.0, 0.0)) for place in range(200)]
    result = study(planted.table(jobs), QUICK)
    assert by_name(result, "helps").status == "insufficient" and by_name(result, "helps").pooled_p == pytest.approx(0.0, abs=1e-9)
    assert any("more tasks of one attempt would not" in warning for warning in result.summary.warnings)


def test_behaviours_that_always_come_together_are_listed_as_one() -> None:
    jobs = [
        replace(
            job,
            features=msgspec.structs.replace(
                job.features, values=(job.features.values[0], job.features.values[0], *job.features.values[2:]), actions=""
            ),
        )
        for job in planted.jobs()
    ]
    result = study(planted.table(jobs), QUICK)
    assert by_name(result, "useless").same_as == ("V9",)
    assert "V9" not in {one.id for one in result.behavior_patterns}


def test_curves_count_the_tasks_that_all_steps_have() -> None:
    jobs = planted.jobs(20, 4, steps=(1, 2, 3))
    for place, job in enumerate(jobs):  # later steps show it more; one task is missing in step 2
        shown = float((place % 4) < (job.step or 0))
        jobs[place] = replace(
            job, features=msgspec.structs.replace(job.features, values=(job.features.values[0], shown, *job.features.values[2:]))
        )
    jobs = [job for job in jobs if not (job.task_id == "t0" and job.step == 2)]
    result = study(planted.table(jobs), QUICK)
    assert result.steps.common_tasks == 19
    assert [point.mix_changed for point in result.steps.points] == [False, True, True]
    curve = next(one for one in result.steps.curves if one.id == "E9")
    assert [point.value for point in curve.points] == pytest.approx([0.25, 0.5, 0.75])
    assert curve.q is not None and curve.q < 0.01 and curve.per_step == pytest.approx(0.25)
    assert any("tasks change between training steps" in warning for warning in result.summary.warnings)


def test_weights_put_prevalence_right() -> None:
    jobs = [replace(job, weight=3.0 if job.task_id < "t4" else 1.0) for job in planted.jobs(30, 6)]
    expected = np.average([job.features.values[1] or 0.0 for job in jobs], weights=[job.weight for job in jobs])
    assert by_name(study(planted.table(jobs), QUICK), "useless").prevalence == pytest.approx(expected)
