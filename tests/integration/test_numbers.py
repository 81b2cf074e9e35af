"""Summaries over each database, compared with the same numbers computed here from a list of jobs."""

from __future__ import annotations

import itertools
from statistics import fmean
from typing import Any

import pytest

from benchloop_client.contract.metrics import GROUP_RUN, group_token_names
from benchloop_client.contract.summaries import TASK_STATUSES, EvalTasks
from benchloop_server.features.jobs.service import Window
from benchloop_server.features.metrics import service as metrics
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.services import Services
from tests.support.stores import job, make_group, principal, put

ANN = principal()
START = "2026-01-01T00:00:00Z"

#: task → facts of its attempts.
RUN: dict[str, list[dict[str, Any]]] = {
    "all-pass": [{"reward": 1.0}, {"reward": 2.0}],
    "some_pass": [{"reward": 1.0, "n_input_tokens": 10, "cost_usd": 0.5}, {"reward": 0.0, "n_input_tokens": 20}, {"error_type": "Timeout"}],
    "partial%": [{"reward": 0.25, "rewards": {"reward": 0.25, "style": 0.5}, "error_type": "Timeout"}],
    "fails": [{"reward": 0.0, "rewards": {"reward": 0.0, "style": 1.0}}, {"reward": -1.0}],
    "errs": [{"error_type": "Timeout"}, {"error_type": "Crash"}, {"reward": 1.0, "reward_valid": False, "error_type": "Verifier"}],
    "nothing": [{}],
    "going": [{"status": "running", "reward": 1.0}, {"status": "pending"}],
}


@pytest.fixture
def run(services: Services) -> Services:
    """The jobs above, all of step null but one task that is trained twice."""
    make_group(services, expected=20)
    finished = (f"2026-01-01T00:00:{second:02}Z" for second in itertools.count(1))
    facts = [(task, number, each) for task, attempts in RUN.items() for number, each in enumerate(attempts)]
    put(services, *(_job(task, number, each, next(finished)) for task, number, each in facts))
    put(services, job("stepped", task_id="fails", step=3, reward=1.0))
    return services


def _job(task: str, number: int, facts: dict[str, Any], finished: str) -> dict[str, Any]:
    rewards = {"rewards": {"reward": facts["reward"]}} if "reward" in facts else {}
    return job(f"{task.strip('%')}-{number}", **{"task_id": task, "started_at": START, "finished_at": finished, **rewards, **facts})


def tasks(services: Services, *, search: str | None = None, status: str | None = None, skip: int = 0, limit: int = 1000) -> EvalTasks:
    """E6."""
    part = Window(skip=skip, limit=limit)
    return metrics.eval_tasks(services, ANN, "g1", part=part, search=search, status=status)


def test_the_summary_of_a_group(run: Services) -> None:
    summary = metrics.eval_summary(run, ANN, "g1")
    outcomes = summary.outcomes
    assert (outcomes.passed, outcomes.partial, outcomes.failed, outcomes.errored, outcomes.ungraded, outcomes.unfinished) == (
        4,
        1,
        3,
        4,
        1,
        2,
    )
    assert (summary.present, summary.expected, summary.missing, summary.tasks) == (15, 20, 5, 7)
    assert (summary.pass_rate.numerator, summary.pass_rate.denominator) == (4, 12)
    assert (summary.pass_rate_graded.numerator, summary.pass_rate_graded.denominator) == (4, 8)
    assert summary.reward.n == 8
    assert summary.reward.mean == pytest.approx(fmean([1, 2, 1, 0, 0.25, 0, -1, 1]))
    assert (summary.reward.min, summary.reward.max) == (-1.0, 2.0)
    validity = summary.reward_validity
    assert (validity.valid, validity.invalid, validity.unknown, validity.missing) == (0, 1, 9, 5)


def test_rewards_errors_tokens_and_times(run: Services) -> None:
    summary = metrics.eval_summary(run, ANN, "g1")
    assert {key: (spread.n, spread.mean) for key, spread in summary.rewards.items()} == {
        "reward": (7, pytest.approx(fmean([1, 2, 1, 0, 0.25, 0, -1]))),
        "style": (2, 0.75),
    }
    assert [(each.error_type, each.jobs, each.graded) for each in summary.errors] == [
        ("Timeout", 3, 1),
        ("Crash", 1, 0),
        ("Verifier", 1, 0),
    ]
    assert (summary.tokens.input.jobs, summary.tokens.input.total, summary.tokens.input.mean) == (2, 30.0, 15.0)
    assert (summary.tokens.output.jobs, summary.tokens.output.total, summary.tokens.output.mean) == (0, None, None)
    assert (summary.cost_usd.jobs, summary.cost_usd.total) == (1, 0.5)
    duration = summary.duration_s
    assert (duration.n, duration.mean, duration.min, duration.p50, duration.p95, duration.max) == (14, 7.5, 1.0, 7.0, 13.0, 14.0)
    assert (summary.n_steps.n, summary.n_steps.mean, summary.n_steps.p50) == (0, None, None)


def test_pass_at_k_is_per_task_and_step(run: Services) -> None:
    summary = metrics.eval_summary(run, ANN, "g1")
    # all-pass 2/2, some_pass 1/3, partial 0/1, fails 0/2, errs 0/3, and fails at step 3: 1/1
    assert {row.k: (row.tasks, pytest.approx(row.value)) for row in summary.pass_at_k} == {
        1: (6, (1 + 1 / 3 + 0 + 0 + 0 + 1) / 6),
        2: (4, (1 + 2 / 3 + 0 + 0) / 4),
        3: (2, 0.5),
    }
    assert [(step.step, step.present) for step in summary.steps] == [(3, 1), (None, 14)]
    assert [(row.k, row.value, row.tasks) for row in summary.steps[0].pass_at_k] == [(1, 1.0, 1)]


def test_a_group_without_jobs_has_nulls_and_no_zeros(services: Services) -> None:
    make_group(services)
    summary = metrics.eval_summary(services, ANN, "g1")
    assert (summary.present, summary.missing, summary.pass_rate.value, summary.reward.mean, summary.cost_usd.total) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert (summary.pass_at_k, summary.steps, summary.errors, summary.rewards) == ([], [], [], {})
    overall = metrics.group_metrics(services, ANN, "g1")
    assert {name: value for name, value in overall.run_metrics.items() if value is not None} == {"job_count": 0}


def test_each_task_has_a_status(run: Services) -> None:
    found = {task.task_id: task for task in tasks(run).tasks}
    expected = dict(
        zip(
            ("all-pass", "some_pass", "partial%", "errs", "nothing", "going"),
            ("passed", "mixed", "partial", "errored", "ungraded", "unfinished"),
            strict=True,
        )
    )
    assert {task_id: task.status for task_id, task in found.items()} == {**expected, "fails": "mixed"}
    assert set(expected.values()) | {"failed"} == set(TASK_STATUSES)
    fails = found["fails"]
    assert (fails.jobs, fails.attempts, fails.steps, fails.reward.max, fails.reward.mean) == (3, 3, [3], 1.0, 0.0)


@pytest.mark.parametrize(
    ("search", "expected"),
    [("PASS", ["all-pass", "some_pass"]), ("l%", ["partial%"]), ("e_p", ["some_pass"]), ("\\", []), ("zz", [])],
)
def test_tasks_are_searched_by_a_part_of_their_id(run: Services, search: str, expected: list[str]) -> None:
    found = tasks(run, search=search)
    assert [task.task_id for task in found.tasks] == expected
    assert found.total == len(expected)


def test_tasks_are_filtered_and_paged(run: Services) -> None:
    assert [task.task_id for task in tasks(run, status="mixed").tasks] == ["fails", "some_pass"]
    pages = [tasks(run, skip=skip, limit=3) for skip in (0, 3, 6, 9)]
    assert [len(page.tasks) for page in pages] == [3, 3, 1, 0]
    assert {page.total for page in pages} == {7}
    with pytest.raises(DomainError, match="`status` 'done' is none of passed"):
        tasks(run, status="done")


def test_statistics_of_a_group_and_of_the_workspace(run: Services) -> None:
    make_group(run, "g2")
    put(run, job("elsewhere", reward=1.0), group_id="g2")
    one, every = metrics.job_stats(run, ANN, "g1"), metrics.job_stats(run, ANN, None)
    assert (one.group_id, one.groups, one.present) == ("g1", 1, 15)
    assert (every.group_id, every.groups, every.present, every.outcomes.passed) == (None, 2, 16, 5)
    assert metrics.job_stats(run, principal("other"), None).present == 0


def test_group_metrics_have_the_documented_names(run: Services) -> None:
    overall = metrics.group_metrics(run, ANN, "g1")
    assert tuple(overall.run_metrics) == tuple(GROUP_RUN)
    assert tuple(overall.tokenized_metrics) == group_token_names()
    assert (overall.run_metrics["job_count"], overall.run_metrics["avg_duration_s"]) == (15, 7.5)


def test_every_present_job_has_a_row_of_metrics(run: Services) -> None:
    page = metrics.metrics_page(run, ANN, "g1", part=Window(limit=4), must_exist=True)
    assert (page.total, len(page.metrics), page.next_cursor is None) == (15, 4, False)
    rest = metrics.metrics_page(run, ANN, "g1", part=Window(limit=1000, cursor=page.next_cursor), must_exist=True)
    assert len({row.job_id for row in (*page.metrics, *rest.metrics)}) == 15
    assert metrics.metrics_page(run, ANN, "none", part=Window(limit=4), must_exist=False).total == 0
