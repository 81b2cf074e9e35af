"""The records that travel: what a push sends, and what the server answers. Every fact that may be unknown is nullable."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Status = Literal["pending", "running", "completed", "cancelled"]
State = Literal["new", "updated", "unchanged"]
UploadKind = Literal["trajectory", "archive", "media"]
#: The name in a job's `meta` of what is wrong with a trajectory that was written and cannot be read: `PLACE: REASON`.
TRAJECTORY_PROBLEM = "trajectory_problem"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what the server answers: unknown keys of a newer server are ignored."""


class Sent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what a client sends: an unknown key is a mistake and is refused by name."""


# ---- push: what a client sends ------------------------------------------------------------------------------------------------------


class Source(Sent, frozen=True, kw_only=True):
    """Where the data came from. `reader_version` grows when a reader's output changes; it is part of what makes a push "unchanged"."""

    format: str
    reader: str
    reader_version: int
    location: str | None = None


class GroupUpsert(Sent, frozen=True, kw_only=True):
    """A group as its run directory tells it. `expected` is the number of jobs the run planned, from its own plan, else null."""

    name: str
    run_id: str | None = None
    benchmark: str | None = None
    model: str | None = None
    agent: str | None = None
    expected: int | None = None
    started_at: str | None = None
    finished_at: str | None = None
    source: Source | None = None
    extra: dict[str, Any] = {}


class Content(Sent, frozen=True, kw_only=True):
    """A reference to uploaded bytes by the SHA-256 of what was sent (hex) and its length in bytes."""

    sha256: str
    size: int


class Media(Sent, frozen=True, kw_only=True):
    """An image or sound that a trajectory shows: `name` as in the trajectory, bytes uploaded as kind `media`."""

    sha256: str
    size: int
    mime_type: str
    name: str


class Phase(Sent, frozen=True, kw_only=True):
    """One timed part of a job, RFC 3339 UTC."""

    started_at: str | None = None
    finished_at: str | None = None


class JobFacts(Sent, frozen=True, kw_only=True):
    """The facts of one job, each recorded on its own; the outcome is derived from them by the server.

    Times are RFC 3339 UTC ending in Z. Tokens are counts; `n_input_tokens` includes cached ones. `cost_usd` in US dollars. `rewards`
    holds every reward key; `reward` is the one named `reward_key`. `attempt_order` breaks ties where jobs have no start time.
    """

    trial_key: str
    task_id: str
    status: Status
    step: int | None = None
    attempt_order: int | None = None
    instance_id: str | None = None
    template: str | None = None
    model: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    reward: float | None = None
    reward_key: str | None = None
    rewards: dict[str, float | None] = {}
    reward_valid: bool | None = None
    n_input_tokens: int | None = None
    n_cache_tokens: int | None = None
    n_output_tokens: int | None = None
    cost_usd: float | None = None
    started_at: str | None = None
    finished_at: str | None = None
    phases: dict[str, Phase] = {}
    source: Source | None = None
    meta: dict[str, Any] = {}


class JobUpsert(Sent, frozen=True, kw_only=True):
    """One job to create or replace, whole or not at all. The uploads it names must have been sent before.

    `fingerprint` (hex SHA-256) covers the facts, the contents and the reader's version: equal fingerprints mean nothing to do.
    """

    job_id: str
    fingerprint: str
    facts: JobFacts
    trajectory: Content | None = None
    archive: Content | None = None
    media: list[Media] = []


class JobsUpsert(Sent, frozen=True, kw_only=True):
    """A batch of jobs, at most 500."""

    jobs: list[JobUpsert]


class Fingerprint(Sent, frozen=True, kw_only=True):
    """What a push would send for a job, to ask whether the server has it already."""

    job_id: str
    fingerprint: str


class JobsCheck(Sent, frozen=True, kw_only=True):
    """A batch of questions, at most 2,000."""

    jobs: list[Fingerprint]


class UploadsCheck(Sent, frozen=True, kw_only=True):
    """Which of these uploads (hex SHA-256, at most 2,000) does the server lack?"""

    kind: UploadKind
    sha256: list[str]


class DownloadTaskCreate(Sent, frozen=True, kw_only=True):
    """Filters of the job list (E7), frozen into a list of ids. Only `group_id` is needed."""

    group_id: str
    template: str | None = None
    status: str | None = None
    instance_id: str | None = None
    outcome: str | None = None
    task_id: str | None = None
    model: str | None = None
    agent: str | None = None
    step: int | str | None = None
    error_type: str | None = None
    reward_valid: bool | None = None
    fail_reason: str | None = None
    sub_fail_reason: str | None = None


# ---- push: what the server answers --------------------------------------------------------------------------------------------------


class JobState(Record, frozen=True, kw_only=True):
    """What became, or would become, of one job of a batch."""

    job_id: str
    state: State


class JobStates(Record, frozen=True, kw_only=True):
    """Answer to a batch, in the order asked."""

    group_id: str
    results: list[JobState]


class UploadsMissing(Record, frozen=True, kw_only=True):
    """The hashes that have to be sent."""

    missing: list[str]


class Uploaded(Record, frozen=True, kw_only=True):
    """One upload, kept: `created` is false when the bytes were there already."""

    sha256: str
    size: int
    created: bool


class UploadedList(Record, frozen=True, kw_only=True):
    """Answer to a bundle, in the order of its items."""

    results: list[Uploaded]


# ---- reading ------------------------------------------------------------------------------------------------------------------------


class Group(Record, frozen=True, kw_only=True):
    """One benchmark run. Counts are of present jobs; `expected` null means that the run does not say how many it planned.

    `tags`, `note`, and a `name` that somebody gave, stay as they are when the run is pushed again.
    """

    group_id: str
    name: str
    run_id: str | None = None
    benchmark: str | None = None
    model: str | None = None
    agent: str | None = None
    expected: int | None = None
    present: int = 0
    steps: list[int] = []
    started_at: str | None = None
    finished_at: str | None = None
    created_at: str
    updated_at: str
    created_by: str | None = None
    source: dict[str, Any] | None = None
    extra: dict[str, Any] = {}
    tags: list[str] = []
    note: str | None = None


class Job(Record, frozen=True, kw_only=True):
    """One attempt at a task, as in the job list (E7) and alone (E8).

    `attempt` counts from 1 within (task, step) by start time, so it may change while jobs arrive; `job_id` does not. `n_steps`,
    `n_tool_calls` and `n_llm_calls` are null without a trajectory. `trajectory_bytes` is the length of the E10 document,
    `artifact_bytes` of the archive of E26. `fail_reason` and `sub_fail_reason` come from the analysis, null before
    and for jobs that did not fail; so does `reward_valid` (and with it `outcome`) where the source says nothing about it.
    """

    job_id: str
    group_id: str
    task_id: str
    attempt: int
    step: int | None = None
    status: str
    outcome: str | None = None
    outcome_rule: int
    reward: float | None = None
    reward_key: str | None = None
    rewards: dict[str, float | None] = {}
    reward_valid: bool | None = None
    error_type: str | None = None
    error_message: str | None = None
    fail_reason: str | None = None
    sub_fail_reason: str | None = None
    instance_id: str | None = None
    template: str | None = None
    model: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    n_input_tokens: int | None = None
    n_cache_tokens: int | None = None
    n_output_tokens: int | None = None
    cost_usd: float | None = None
    started_at: str | None = None
    finished_at: str | None = None
    duration_s: float | None = None
    n_steps: int | None = None
    n_tool_calls: int | None = None
    n_llm_calls: int | None = None
    trajectory_bytes: int | None = None
    artifact_bytes: int | None = None
    created_at: str
    updated_at: str


class JobPage(Record, frozen=True, kw_only=True):
    """E7. `total` counts all rows under the same filters; `next_cursor` is null on the last page."""

    group_id: str | None
    total: int
    skip: int
    limit: int
    jobs: list[Job]
    next_cursor: str | None = None


class GroupPage(Record, frozen=True, kw_only=True):
    """The list of groups, newest first."""

    total: int
    groups: list[Group]
    next_cursor: str | None = None


class Member(Record, frozen=True, kw_only=True):
    """One file of a job's artifact archive: `path` inside it, its size and SHA-256 (hex), and where its gzip member lies in the archive."""

    path: str
    size: int
    sha256: str
    offset: int
    length: int


class ArtifactMembers(Record, frozen=True, kw_only=True):
    """The files inside a job's artifact archive, in the archive's order."""

    job_id: str
    total: int
    members: list[Member]


class Artifact(Record, frozen=True, kw_only=True):
    """One entry of E25. A job without artifacts has one entry with an empty `url` and `error_code` `no_artifact`; `sha256` (hex) and
    `size` (bytes) are of the archive, `members` is its number of files, `etag` is what E26 answers with.
    """

    name: str
    url: str
    error_code: str | None = None
    size: int | None = None
    sha256: str | None = None
    etag: str | None = None
    members: int | None = None


class JobArtifacts(Record, frozen=True, kw_only=True):
    """E25: at most one archive."""

    job_id: str
    artifacts: list[Artifact]


class GroupArtifact(Artifact, frozen=True, kw_only=True):
    """One archive of a group's list."""

    job_id: str
    group_id: str


class GroupArtifactPage(Record, frozen=True, kw_only=True):
    """The archives of a group's jobs, in the order of the job list; jobs without one are left out and not counted in `total`."""

    group_id: str
    total: int
    artifacts: list[GroupArtifact]
    next_cursor: str | None = None


class Export(Record, frozen=True, kw_only=True):
    """E12 and E13: always `succeeded`; `download_url` is relative to the server's address."""

    status: Literal["succeeded"]
    download_job_name: str
    download_url: str
    total: int


class DownloadTask(Record, frozen=True, kw_only=True):
    """E28: a frozen list of jobs. `filters` holds what was asked for."""

    task_id: str
    group_id: str | None
    created_at: str
    total: int
    filters: dict[str, Any]
    job_ids: list[str]


class Version(Record, frozen=True, kw_only=True):
    """Who answers and what it can do; see `contract.version`."""

    server: str
    version: str
    api: int
    features: list[str]
