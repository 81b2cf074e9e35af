"""What a process that judges jobs is given, and what it answers."""

from __future__ import annotations

import msgspec

from benchloop_analysis.judge import Opinion
from benchloop_analysis.records import Facts, JobAnalysis, Siblings
from benchloop_server.kit.verified import Place


class Archive(msgspec.Struct, frozen=True, array_like=True):
    """Where a job's archive is, and the index of its files."""

    place: Place
    index: Place


class Passing(msgspec.Struct, frozen=True, array_like=True):
    """An attempt at the same task that passed: its id, and where its trajectory is."""

    job_id: str
    sha256: str
    trajectory: Place


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One job to be judged: its facts, where its contents are, and what other attempts show. `context` names what they show."""

    job_id: str
    group_id: str
    fingerprint: str
    facts: Facts
    cost_usd: float | None
    trajectory: Place | None
    archive: Archive | None
    siblings: Siblings | None
    passing: Passing | None
    context: str


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """Some jobs, and the (name, text) of the rule files beside the built-in ones."""

    rules: tuple[tuple[str, str], ...]
    jobs: tuple[Asked, ...]


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What a group's report is counted from; the facts without the long ones that it does not need."""

    analysis: JobAnalysis
    facts: Facts
    opinion: Opinion | None = None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One job judged: `kept` and `shown` are JSON in zstd (`Kept`, `service.Shown`). With `error` it could not be judged.

    `features`: what it did, JSON in zstd (`behaviours.records.Features`), empty without a trajectory; with `unseen` it could not be
    observed.
    """

    job_id: str
    error: str | None = None
    fail_reason: str | None = None
    sub_fail_reason: str | None = None
    reward_valid: bool | None = None
    tier: str | None = None
    kept: bytes = b""
    shown: bytes = b""
    features: bytes = b""
    unseen: str | None = None
