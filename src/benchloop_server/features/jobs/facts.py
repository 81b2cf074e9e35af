"""A pushed job becomes the values of a row: checked, its outcome decided, its contents' counts beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from benchloop_client.contract.ids import MINTED, SHA256
from benchloop_client.contract.outcome import RULE_VERSION, outcome
from benchloop_client.contract.resources import Content, JobFacts, JobUpsert
from benchloop_server.features.jobs.contents import Upload
from benchloop_server.kit.errors import conflict, unprocessable
from benchloop_server.kit.facts import check_counts, check_texts, moment
from benchloop_server.sql.records import TrajectoryInfo

_COPIED = (
    *("trial_key", "task_id", "step", "attempt_order", "status", "reward", "reward_key", "reward_valid", "error_type", "error_message"),
    *("instance_id", "template", "model", "agent", "agent_version", "n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd"),
)
_COUNTS = ("step", "n_input_tokens", "n_cache_tokens", "n_output_tokens")
_TEXTS = (
    *("trial_key", "task_id", "reward_key", "error_type", "error_message", "instance_id", "template"),
    *("model", "agent", "agent_version"),
)
_OF_TRAJECTORY = {
    **{
        name: name
        for name in ("n_steps", "n_agent_steps", "n_tool_calls", "n_tool_errors", "n_llm_calls", "thinking_chars", "context_peak")
    },
    "trajectory_prompt_tokens": "prompt_tokens",
    "trajectory_completion_tokens": "completion_tokens",
    "trajectory_cached_tokens": "cached_tokens",
    "trajectory_cost_usd": "cost_usd",
}

Uploads = Mapping[tuple[str, str], Upload]


def check(job: JobUpsert) -> None:
    """Raise `DomainError` (422) naming the job and the fact that cannot be."""
    thing = f"job {job.job_id!r}"
    if not MINTED.match(job.job_id):
        raise unprocessable(f"{thing}: an id holds letters, digits, `.`, `_` and `-`, at most 128, and starts with a letter or digit")
    if not SHA256.match(job.fingerprint):
        raise unprocessable(f"{thing}: `fingerprint` has to be 64 hexadecimal digits")
    if not job.facts.task_id or not job.facts.trial_key:
        raise unprocessable(f"{thing}: `task_id` and `trial_key` cannot be empty")
    check_texts(thing, [(name, getattr(job.facts, name)) for name in _TEXTS])
    check_texts(thing, [("rewards", name) for name in job.facts.rewards])
    check_texts(thing, [(field, getattr(media, field)) for media in job.media for field in ("name", "mime_type")])
    check_counts(thing, [(name, getattr(job.facts, name)) for name in _COUNTS])
    order = job.facts.attempt_order
    check_counts(thing, [("attempt_order", None if order is None else abs(order))])


def row_of(job: JobUpsert, group_id: str, *, uploads: Uploads) -> dict[str, Any]:
    """The columns a push sets. Raises `DomainError`: 409 for an upload that was not sent, 422 for one that does not belong to this job."""
    facts, thing = job.facts, f"job {job.job_id!r}"
    for media in job.media:
        _upload(thing, "media", media.sha256, size=media.size, uploads=uploads)
    return {
        **{name: getattr(facts, name) for name in _COPIED},
        "group_id": group_id,
        "outcome": outcome(status=facts.status, reward=facts.reward, reward_valid=facts.reward_valid, error_type=facts.error_type),
        "outcome_rule": RULE_VERSION,
        "reward_valid_recorded": facts.reward_valid,
        "started_at": moment(thing, "started_at", facts.started_at),
        "finished_at": moment(thing, "finished_at", facts.finished_at),
        "rewards_json": _json(facts.rewards),
        "phases_json": _json(_checked_phases(thing, facts)),
        "source_json": None if facts.source is None else _json(facts.source),
        "meta_json": _json(facts.meta),
        "fingerprint": job.fingerprint,
        # What the analysis said was about other content.
        "fail_reason": None,
        "sub_fail_reason": None,
        **_trajectory(job, group_id, uploads=uploads),
        **_archive(job, uploads=uploads),
    }


def _trajectory(job: JobUpsert, group_id: str, *, uploads: Uploads) -> dict[str, Any]:
    if job.trajectory is None:
        names = ("trajectory_sha256", "trajectory_bytes", "trajectory_stored_bytes", *_OF_TRAJECTORY)
        return dict.fromkeys(names)
    thing = f"job {job.job_id!r}"
    upload = _content(thing, "trajectory", job.trajectory, uploads=uploads)
    info = msgspec.json.decode(upload.info_json, type=TrajectoryInfo)
    stamp = {"job_id": info.trajectory_id, "group_id": info.group_id, "task_id": info.task_id}
    for name, expected in (("job_id", job.job_id), ("group_id", group_id), ("task_id", job.facts.task_id)):
        if stamp[name] != expected:
            raise unprocessable(f"{thing}: its trajectory is stamped with {name} {stamp[name]!r}, not {expected!r}")
    columns: dict[str, Any] = {column: getattr(info, field) for column, field in _OF_TRAJECTORY.items()}
    return {
        "trajectory_sha256": job.trajectory.sha256,
        "trajectory_bytes": info.document_bytes,
        "trajectory_stored_bytes": upload.stored_size,
        **columns,
    }


def _archive(job: JobUpsert, *, uploads: Uploads) -> dict[str, Any]:
    if job.archive is None:
        return {"archive_sha256": None, "artifact_bytes": None}
    upload = _content(f"job {job.job_id!r}", "archive", job.archive, uploads=uploads)
    return {"archive_sha256": job.archive.sha256, "artifact_bytes": upload.size}


def _content(thing: str, kind: str, content: Content, *, uploads: Uploads) -> Upload:
    return _upload(thing, kind, content.sha256, size=content.size, uploads=uploads)


def _upload(thing: str, kind: str, sha256: str, *, size: int, uploads: Uploads) -> Upload:
    upload = uploads.get((kind, sha256))
    if upload is None:
        raise conflict(f"{thing}: its {kind} {sha256} was not uploaded; send it first")
    if upload.size != size:
        raise unprocessable(f"{thing}: its {kind} {sha256} has {upload.size} bytes, not {size}")
    return upload


def _checked_phases(thing: str, facts: JobFacts) -> dict[str, Any]:
    for name, phase in facts.phases.items():
        moment(thing, f"phases.{name}.started_at", phase.started_at)
        moment(thing, f"phases.{name}.finished_at", phase.finished_at)
    return dict(facts.phases)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
