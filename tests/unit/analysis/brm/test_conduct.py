"""A study from start to end: the sample does not depend on the order of jobs, what is left out is said, examples cite the right steps."""

from __future__ import annotations

import random
from itertools import pairwise

import msgspec
import pytest

from benchloop_analysis.behaviours import CATALOGUE, CATALOGUE_VERSION, Features
from benchloop_analysis.brm.conduct import CHANGED, NOT_ENDED, WORDS, Frozen, Job, answer, conduct, freeze, illustrated

PLACE = 3


def job(task: int, attempt: int, *, step: int | None = None) -> Job:
    """An attempt; every other one passed."""
    return Job(f"t{task:02}-{step}-{attempt}", f"t{task:02}", "a", "m", step, float(attempt % 2), True, fingerprint=f"{task}{attempt}")


def features(passed: bool, chance: random.Random) -> Features:
    """What an attempt did: one behaviour, and a row of actions that passed attempts have more often."""
    shown = chance.random() < (0.8 if passed else 0.2)
    values = tuple(float(shown) if place == PLACE else None for place in range(len(CATALOGUE)))
    steps = tuple((5, 9) if place == PLACE and shown else () for place in range(len(CATALOGUE)))
    actions = "abcab" if shown else "aaaaa"
    return Features(version=CATALOGUE_VERSION, values=values, steps=steps, n_steps=5, actions=actions, action_steps=(2, 1, 1, 3, 1))


def frozen(tasks: int = 40, attempts: int = 6) -> Frozen:
    """A sample of all jobs, three of which had not ended."""
    jobs = [job(task, attempt) for task in range(tasks) for attempt in range(attempts)]
    return freeze(jobs, group_id="g", steps=(), size=None, left_out={NOT_ENDED: 3})


def test_the_order_of_the_jobs_does_not_matter() -> None:
    jobs = [job(task, attempt, step=step) for step in (10, 20) for task in range(30) for attempt in range(4)]
    shuffled = random.Random(1).sample(jobs, len(jobs))
    one, other = (freeze(each, group_id="g", steps=(10, 20), size=20, left_out={}) for each in (jobs, shuffled))
    assert one == other
    assert 40 <= len(one.jobs) < len(jobs)
    assert {each.weight for each in one.jobs} != {1.0}
    assert freeze(jobs, group_id="h", steps=(10, 20), size=20, left_out={}).jobs != one.jobs
    assert msgspec.json.decode(msgspec.json.encode(one), type=Frozen) == one


@pytest.fixture(scope="module")
def studied() -> tuple[Frozen, dict[str, Features]]:
    """The sample, and what its jobs did."""
    chance = random.Random(2)
    sample = frozen()
    return sample, {each.job_id: features(bool(each.reward), chance) for each in sample.jobs}


def test_examples_cite_the_steps_of_behaviours_and_of_rows_of_actions(studied: tuple[Frozen, dict[str, Features]]) -> None:
    sample, seen = studied
    found = conduct(sample, ((each, seen[each.job_id]) for each in sample.jobs), scoring_limit=32)
    asked: list[str] = []

    def read(job_ids: list[str]) -> dict[str, Features]:
        asked.extend(job_ids)
        return {job_id: seen[job_id] for job_id in job_ids}

    shown = illustrated(found, read)
    assert asked == sorted(set(asked))
    by_kind = {pattern.kind: pattern for pattern in shown.behavior_patterns if pattern.examples}
    assert {example.steps for example in by_kind["catalogue"].examples} == {(5, 9)}
    for example in by_kind["mined"].examples:
        assert example.steps
        assert set(example.steps) <= {2, 3, 4, 7, 8}
        assert all(one < other for one, other in pairwise(example.steps))


def test_what_is_left_out_is_said_and_counted(studied: tuple[Frozen, dict[str, Features]]) -> None:
    sample, seen = studied
    gone = sample.jobs[0].job_id
    told = ((each, CHANGED if each.job_id == gone else seen[each.job_id]) for each in sample.jobs)
    found = answer(conduct(sample, told, scoring_limit=5))
    assert found["summaryData"]["n"] == len(sample.jobs) - 1
    assert found["summary"].rstrip().endswith(f"3 {WORDS[NOT_ENDED]}, 1 {WORDS[CHANGED]}.")
    assert len(found["behaviorPatterns"]) <= 5
    assert {"or", "or_ci", "within_task_rd", "rd_ci", "informative_tasks", "examples"} <= set(found["behaviorPatterns"][0])
