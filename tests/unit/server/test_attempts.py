"""Numbering attempts, and pass@k over them."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_server.features.jobs.attempts import Numbered, renumber
from benchloop_server.features.metrics.passes import pass_at_k, table

JOBS = st.lists(
    st.builds(
        Numbered,
        job_id=st.uuids().map(str),
        task_id=st.sampled_from("ab"),
        step=st.sampled_from([None, 0, 1]),
        started_at=st.none() | st.integers(0, 3),
        attempt_order=st.none() | st.integers(-1, 1),
        attempt=st.integers(0, 3),
    ),
    unique_by=lambda job: job.job_id,
    max_size=12,
)


def numbers(jobs: list[Numbered]) -> dict[str, int]:
    """The number of each job after numbering."""
    return {job.job_id: job.attempt for job in jobs} | renumber(jobs)


@given(JOBS)
def test_numbers_count_from_one_in_each_task_and_step(jobs: list[Numbered]) -> None:
    found = numbers(jobs)
    for place in {(job.task_id, job.step) for job in jobs}:
        stratum = [found[job.job_id] for job in jobs if (job.task_id, job.step) == place]
        assert sorted(stratum) == list(range(1, len(stratum) + 1))


@given(JOBS, st.randoms())
def test_the_order_of_arrival_does_not_matter(jobs: list[Numbered], random: object) -> None:
    shuffled = list(jobs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert numbers(shuffled) == numbers(jobs)
    settled = [job._replace(attempt=numbers(jobs)[job.job_id]) for job in jobs]
    assert renumber(settled) == {}


def test_earlier_starts_come_first_and_unknown_ones_last() -> None:
    def at(job_id: str, started_at: int | None, order: int | None = None) -> Numbered:
        return Numbered(job_id, "t", None, started_at, order, 0)

    jobs = [at("none", None), at("late", 9), at("b", 1, 2), at("a", 1, None), at("c", 1, 1), at("ordered", None, 5)]
    assert renumber(jobs) == {"c": 1, "b": 2, "a": 3, "late": 4, "ordered": 5, "none": 6}


@pytest.mark.parametrize(("attempts", "passed", "k"), [(n, c, k) for n in range(1, 7) for c in range(n + 1) for k in range(1, n + 1)])
def test_pass_at_k_is_what_drawing_gives(attempts: int, passed: int, k: int) -> None:
    draws = list(combinations([True] * passed + [False] * (attempts - passed), k))
    assert pass_at_k(attempts, passed, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_the_table_ends_at_the_most_attempts() -> None:
    assert table([(0, 0, 5)]) == []
    rows = table([(2, 1, 1), (4, 0, 1), (0, 0, 9)])
    assert [(row.k, row.tasks, row.value) for row in rows] == [(1, 2, 0.25), (2, 2, 0.5), (3, 1, 0.0), (4, 1, 0.0)]
