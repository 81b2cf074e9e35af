"""From the row of a job to what a process that judges it is given."""

from __future__ import annotations

from typing import Any

import msgspec

from benchloop_analysis.records import Facts
from benchloop_server.features.analysis.asked import Archive, Asked
from benchloop_server.features.analysis.attempts import Attempts
from benchloop_server.kit.clock import format_optional
from benchloop_server.kit.db import Row
from benchloop_server.kit.verified import Place


def has_passed(row: Row[Any]) -> bool:
    """Whether the job passed, and nothing was recorded that spoils its reward."""
    return row.reward is not None and row.reward >= 1 and row.reward_valid_recorded is not False


def asked_of(row: Row[Any], group_id: str, attempts: Attempts) -> Asked:
    """The job of a row of `repository.page_to_do` and its like."""
    key = (row.task_id, row.step)
    passed = has_passed(row)
    trajectory = _place(row, "trace") if row.trace_blob is not None else None
    archive = Archive(_place(row, "archive"), _index(row)) if row.archive_blob is not None else None
    return Asked(
        job_id=row.job_id,
        group_id=group_id,
        fingerprint=row.fingerprint,
        facts=_facts(row),
        cost_usd=row.cost_usd,
        trajectory=trajectory,
        archive=archive,
        siblings=attempts.siblings(key, steps=row.n_steps, passed=passed),
        passing=None if passed else attempts.passing(key, row.job_id),
        context=attempts.context(key, row.job_id, steps=row.n_steps),
    )


def _place(row: Row[Any], prefix: str) -> Place:
    return Place(*(getattr(row, f"{prefix}_{name}") for name in ("blob", "blob_offset", "stored_size", "stored_sha256")))


def _index(row: Row[Any]) -> Place:
    return Place(row.archive_index_blob, row.archive_index_offset, row.archive_index_size, row.archive_index_sha256)


def _facts(row: Row[Any]) -> Facts:
    """The facts as they were pushed."""
    same = ("task_id", "status", "error_type", "error_message", "reward", "reward_key", "agent", "model", "step")
    source = None if row.source_json is None else msgspec.json.decode(row.source_json)
    return msgspec.convert(
        {
            **{name: getattr(row, name) for name in same},
            "rewards": msgspec.json.decode(row.rewards_json),
            "reward_valid": row.reward_valid_recorded,
            "started_at": format_optional(row.started_at),
            "finished_at": format_optional(row.finished_at),
            "phases": msgspec.json.decode(row.phases_json),
            "format": source.get("format") if isinstance(source, dict) else None,
            "meta": msgspec.json.decode(row.meta_json),
        },
        type=Facts,
    )
