"""Rows of aggregates become the records of `contract.summaries`. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from benchloop_client.contract.metrics import GROUP_RUN, JOB_RUN, JOB_TOKEN, group_token_names
from benchloop_client.contract.summaries import EvalTask, JobMetrics, Outcomes, Rate, RewardValidity, Spread, Statuses, Total
from benchloop_server.features.jobs.shapes import duration_s

Number = float | None


def outcomes(row: Any) -> Outcomes:
    """Counts by outcome."""
    return Outcomes(**{name: int(getattr(row, name)) for name in Outcomes.__struct_fields__})


def statuses(row: Any) -> Statuses:
    """Counts by lifecycle status."""
    return Statuses(**{name: int(getattr(row, f"status_{name}")) for name in Statuses.__struct_fields__})


def validity(row: Any) -> RewardValidity:
    """Counts by what is known of the reward."""
    return RewardValidity(**{name: int(getattr(row, f"reward_{name}")) for name in RewardValidity.__struct_fields__})


def pass_rate(counts: Outcomes) -> Rate:
    """Passed / attempts."""
    return _rate(counts.passed, counts.passed + counts.partial + counts.failed + counts.errored)


def pass_rate_graded(counts: Outcomes) -> Rate:
    """Passed / graded."""
    return _rate(counts.passed, counts.passed + counts.partial + counts.failed)


def spread(row: Any, name: str) -> Spread:
    """The columns `<name>_n`, `_mean`, `_min`, `_max`."""
    return Spread(n=int(getattr(row, f"{name}_n")), **{word: real(getattr(row, f"{name}_{word}")) for word in ("mean", "min", "max")})


def total(row: Any, name: str) -> Total:
    """The columns `<name>_jobs`, `_total`, `_mean`."""
    jobs = int(getattr(row, f"{name}_jobs"))
    return Total(jobs=jobs, total=real(getattr(row, f"{name}_total")), mean=real(getattr(row, f"{name}_mean")))


def real(value: Any) -> float | None:
    """PostgreSQL answers sums and means of whole numbers as decimals."""
    return None if value is None else float(value)


def eval_task(row: Any, steps: list[int]) -> EvalTask:
    """A row of E6."""
    counts = outcomes(row)
    rate = pass_rate(counts)
    return EvalTask(
        task_id=row.task_id,
        status=row.task_status,
        jobs=int(row.present),
        attempts=rate.denominator,
        outcomes=counts,
        pass_rate=rate,
        reward=spread(row, "reward"),
        steps=steps,
    )


def job_metrics(row: Any) -> JobMetrics:
    """E1, and a row of E2."""
    facts = (
        *("reward", "reward_key", "reward_valid", "outcome", "status", "error_type", "attempt", "step"),
        *("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd"),
    )
    metrics = {name: getattr(row, name) for name in facts} | {"rewards": msgspec.json.decode(row.rewards_json)}
    output = row.n_output_tokens if row.trajectory_completion_tokens is None else row.trajectory_completion_tokens
    run = {
        "duration_s": duration_s(row),
        "thinking_length": row.thinking_chars,
        "api_call_count": row.n_llm_calls,
        "tool_call_count": row.n_tool_calls,
        "tool_error_count": row.n_tool_errors,
        "tool_error_rate": _ratio(row.n_tool_errors, row.n_tool_calls),
        "num_turns": row.n_agent_steps,
    }
    tokens = {
        "tokenizer_output_total": output,
        "tokenizer_output_per_turn": _ratio(output, row.n_llm_calls),
        "tokenizer_context_peak": row.context_peak,
        "llm_calls": row.n_llm_calls,
    }
    return JobMetrics(
        job_id=row.job_id,
        group_id=row.group_id,
        task_id=row.task_id,
        metrics=metrics,
        run_metrics=_named(JOB_RUN, run),
        tokenized_metrics=_named(JOB_TOKEN, tokens),
    )


def group_run_metrics(row: Any) -> dict[str, Number]:
    """The documented `run_metrics` of a group, in the documented order; null where no source records the value."""
    return {name: _number(name, getattr(row, name, None)) for name in GROUP_RUN}


def group_token_metrics(row: Any) -> dict[str, Number]:
    """The documented `tokenized_metrics` of a group, likewise."""
    return {name: _number(name, getattr(row, name, None)) for name in group_token_names()}


def _number(name: str, value: Any) -> Number:
    if value is None:
        return None
    return float(value) if name.startswith("avg_") or name.endswith("per_turn") else int(value)


def _named(names: dict[str, str], values: dict[str, Any]) -> dict[str, Number]:
    return {name: values.get(name) for name in names}


def _ratio(numerator: int | None, denominator: int | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def _rate(numerator: int, denominator: int) -> Rate:
    return Rate(value=numerator / denominator if denominator else None, numerator=numerator, denominator=denominator)
