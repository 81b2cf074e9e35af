"""Summaries over one group, or over every job that the caller can read, each from one snapshot of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchloop_client.contract.outcome import RULE_VERSION
from benchloop_client.contract.summaries import (
    TASK_STATUSES,
    Distribution,
    ErrorCount,
    EvalSummary,
    EvalTasks,
    FailCount,
    GroupMetrics,
    JobMetrics,
    JobStats,
    MetricsPage,
    PassAtK,
    Spread,
    StepSummary,
    Tokens,
)
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.features.jobs.service import Window
from benchloop_server.features.metrics import passes, repository, shapes
from benchloop_server.kit.db import Connection
from benchloop_server.kit.errors import bad_request
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

_SEARCH_LIMIT = 500


def eval_summary(services: Services, principal: Principal, group_id: str) -> EvalSummary:
    """E5. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        group = groups.find(connection, principal, group_id)
        where = repository.scope(principal, group_id)
        strata = repository.attempt_counts(connection, where)
        return EvalSummary(
            group_id=group_id,
            expected=group.expected,
            missing=None if group.expected is None else max(0, group.expected - group.present),
            outcome_rule=RULE_VERSION,
            pass_at_k=_pass_at_k(strata),
            steps=[_step(row, strata) for row in repository.by_step(connection, where)],
            **_slice(connection, where),
        )


def job_stats(services: Services, principal: Principal, group_id: str | None) -> JobStats:
    """E9. Raises `DomainError` (404) for an unknown group."""
    with services.db.read() as connection:
        if group_id is not None:
            groups.require(connection, principal, group_id)
        where = repository.scope(principal, group_id)
        numbers = _slice(connection, where)
        return JobStats(group_id=group_id, groups=repository.totals(connection, where).groups, **numbers)


def eval_tasks(
    services: Services, principal: Principal, group_id: str, *, part: Window, search: str | None, status: str | None
) -> EvalTasks:
    """E6. Raises `DomainError`: 404 for an unknown group, 400 for a status that no task can have."""
    if status and status not in TASK_STATUSES:
        raise bad_request(f"`status` {status!r} is none of {', '.join(TASK_STATUSES)}")
    if search and len(search) > _SEARCH_LIMIT:
        raise bad_request(f"`search` is longer than {_SEARCH_LIMIT} characters")
    with services.db.read() as connection:
        groups.require(connection, principal, group_id)
        where = repository.scope(principal, group_id)
        query, total = repository.tasks(connection, where, search=search, status=status)
        rows = repository.task_page(connection, query, skip=part.skip, limit=part.limit)
        steps = repository.task_steps(connection, where, task_ids=[row.task_id for row in rows])
    tasks = [shapes.eval_task(row, steps.get(row.task_id, [])) for row in rows]
    return EvalTasks(group_id=group_id, total=total, skip=part.skip, limit=part.limit, tasks=tasks)


def job_metrics(services: Services, principal: Principal, job_id: str) -> JobMetrics:
    """E1. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        return shapes.job_metrics(jobs.find(connection, principal, job_id))


def group_metrics(services: Services, principal: Principal, group_id: str) -> GroupMetrics:
    """E3. Raises `DomainError` (404)."""
    with services.db.read() as connection:
        groups.require(connection, principal, group_id)
        row = repository.run_metrics(connection, repository.scope(principal, group_id))
    run, tokens = shapes.group_run_metrics(row), shapes.group_token_metrics(row)
    return GroupMetrics(group_id=group_id, run_metrics=run, tokenized_metrics=tokens)


def metrics_page(services: Services, principal: Principal, group_id: str, *, part: Window, must_exist: bool) -> MetricsPage:
    """E2 and `groups/{id}/metrics/detail`. An unknown group is an empty page, or a `DomainError` (404) where it `must_exist`."""
    with services.db.read() as connection:
        if must_exist:
            groups.require(connection, principal, group_id)
        found = jobs.window(connection, principal, JobFilter(group_id=group_id), window=part)
        row = repository.run_metrics(connection, repository.scope(principal, group_id))
    return MetricsPage(
        group_id=group_id,
        total=found.total,
        skip=part.skip,
        limit=part.limit,
        metrics=[shapes.job_metrics(row) for row in found.rows],
        tokenized_metrics=shapes.group_token_metrics(row),
        next_cursor=found.next_cursor,
    )


def _slice(connection: Connection, where: list[Any]) -> dict[str, Any]:
    row = repository.totals(connection, where)
    counts = shapes.outcomes(row)
    return {
        "present": row.present,
        "tasks": row.tasks,
        "statuses": shapes.statuses(row),
        "outcomes": counts,
        "reward_validity": shapes.validity(row),
        "pass_rate": shapes.pass_rate(counts),
        "pass_rate_graded": shapes.pass_rate_graded(counts),
        "reward": shapes.spread(row, "reward"),
        "rewards": _rewards(connection, where),
        "errors": [
            ErrorCount(error_type=error.error_type, jobs=error.jobs, graded=int(error.graded))
            for error in repository.errors(connection, where)
        ],
        "fail_reasons": [
            FailCount(fail_reason=row.fail_reason, sub_fail_reason=row.sub_fail_reason, jobs=row.jobs)
            for row in repository.fail_reasons(connection, where)
        ],
        "tokens": Tokens(**{name: shapes.total(row, name) for name in ("input", "cached", "output")}),
        "cost_usd": shapes.total(row, "cost_usd"),
        "duration_s": _distribution(connection, where, spread=shapes.spread(row, "duration_s"), name="duration_s"),
        "n_steps": _distribution(connection, where, spread=shapes.spread(row, "n_steps"), name="n_steps"),
        "n_tool_calls": shapes.spread(row, "n_tool_calls"),
        "with_trajectory": row.with_trajectory,
        "with_artifacts": row.with_artifacts,
    }


def _rewards(connection: Connection, where: list[Any]) -> dict[str, Spread]:
    rows = repository.rewards(connection, where)
    return {row.reward_key: Spread(n=row.n, mean=shapes.real(row.mean), min=shapes.real(row.min), max=shapes.real(row.max)) for row in rows}


def _distribution(connection: Connection, where: list[Any], *, spread: Spread, name: str) -> Distribution:
    at = {word: int(share * (spread.n - 1)) for word, share in (("p50", 0.5), ("p95", 0.95))} if spread.n else {}
    quantiles = {word: repository.quantile(connection, where, name=name, position=position) for word, position in at.items()}
    return Distribution(n=spread.n, mean=spread.mean, min=spread.min, max=spread.max, **quantiles)


def _step(row: Any, strata: Iterable[Any]) -> StepSummary:
    counts = shapes.outcomes(row)
    return StepSummary(
        step=row.step,
        present=row.present,
        tasks=row.tasks,
        outcomes=counts,
        pass_rate=shapes.pass_rate(counts),
        pass_rate_graded=shapes.pass_rate_graded(counts),
        reward=shapes.spread(row, "reward"),
        pass_at_k=_pass_at_k(stratum for stratum in strata if stratum.step == row.step),
    )


def _pass_at_k(strata: Iterable[Any]) -> list[PassAtK]:
    return passes.table((int(stratum.n), int(stratum.c), stratum.strata) for stratum in strata)
