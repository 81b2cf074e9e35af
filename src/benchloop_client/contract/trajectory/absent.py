"""The document that stands for a job whose trajectory was not recorded: no steps, and a mark that says so."""

from __future__ import annotations

from typing import Any

import msgspec

from benchloop_client.contract.trajectory.document import encode
from benchloop_client.contract.trajectory.shape import SCHEMA_VERSION

_RECORDED = b'"recorded":false'
#: Such a document holds ids and names only; anything longer is a real one.
_LONGEST = 16_384


class Unrecorded(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a job without a trajectory."""

    job_id: str
    group_id: str
    task_id: str
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None


def absent_document(job: Unrecorded) -> bytes:
    """The E10 document of a job without a trajectory. It has no step, which the format's strict rules forbid: a made-up step would be
    worse. `extra.benchloop.recorded` is false in these documents and missing in all others.
    """
    agent = {"name": job.agent or "unknown", "version": job.agent_version or "unknown"}
    if job.model:
        agent["model_name"] = job.model
    marks: dict[str, Any] = {"job_id": job.job_id, "group_id": job.group_id, "task_id": job.task_id, "recorded": False}
    document = {"schema_version": SCHEMA_VERSION, "trajectory_id": job.job_id, "agent": agent, "steps": [], "extra": {"benchloop": marks}}
    return encode(document)


def is_absent(raw: bytes) -> bool:
    """True for a document made by `absent_document`, however it is laid out."""
    if len(raw) > _LONGEST or _RECORDED not in raw.replace(b" ", b""):
        return False
    try:
        marks = msgspec.json.decode(raw)["extra"]["benchloop"]
        return marks["recorded"] is False
    except (msgspec.DecodeError, KeyError, TypeError):
        return False
