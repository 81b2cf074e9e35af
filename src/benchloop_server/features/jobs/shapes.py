"""Rows become the records that travel. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from benchloop_client.contract.resources import Job
from benchloop_client.contract.summaries import JobMeta
from benchloop_server.kit.clock import format_optional, format_time

_MICROS = 1_000_000
_SAME = (
    *("job_id", "group_id", "task_id", "attempt", "step", "status", "outcome", "outcome_rule", "reward", "reward_key", "reward_valid"),
    *("error_type", "error_message", "fail_reason", "sub_fail_reason", "instance_id", "template", "model", "agent", "agent_version"),
    *(
        "n_input_tokens",
        "n_cache_tokens",
        "n_output_tokens",
        "cost_usd",
        "n_steps",
        "n_tool_calls",
        "n_llm_calls",
        "trajectory_bytes",
        "artifact_bytes",
    ),
)


def job_of(row: Any) -> Job:
    """The record of E7 and E8."""
    return Job(
        **{name: getattr(row, name) for name in _SAME},
        rewards=msgspec.json.decode(row.rewards_json),
        started_at=format_optional(row.started_at),
        finished_at=format_optional(row.finished_at),
        duration_s=duration_s(row),
        created_at=format_time(row.created_at),
        updated_at=format_time(row.updated_at),
    )


def duration_s(row: Any) -> float | None:
    """Seconds from start to finish; None unless both are known and in order."""
    if row.started_at is None or row.finished_at is None or row.finished_at < row.started_at:
        return None
    seconds: float = (row.finished_at - row.started_at) / _MICROS
    return seconds


def meta_of(row: Any) -> JobMeta:
    """The record of E29."""
    return _meta(row, msgspec.json.decode)


def meta_text(row: Any) -> bytes:
    """The record of E29 as it is sent. What is JSON already is not read for it."""
    return msgspec.json.encode(_meta(row, _as_it_is))


def _as_it_is(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def _meta(row: Any, read: Callable[[str], Any]) -> JobMeta:
    names = (
        *("job_id", "group_id", "task_id", "trial_key", "attempt", "step", "instance_id", "template", "model", "agent", "agent_version"),
        *("fingerprint", "trajectory_sha256", "archive_sha256"),
    )
    return JobMeta(
        **{name: getattr(row, name) for name in names},
        source=None if row.source_json is None else read(row.source_json),
        phases=read(row.phases_json),
        meta=read(row.meta_json),
        created_at=format_time(row.created_at),
        updated_at=format_time(row.updated_at),
    )
