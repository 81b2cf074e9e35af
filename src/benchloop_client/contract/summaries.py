"""What is computed over many jobs: each number with its unit and denominator. Null means that nothing was recorded, never 0.

Words used throughout. *present*: jobs of the group on the server. *graded*: jobs with a reward not known to be invalid, whose attempt has
ended. *attempts*: graded plus errored jobs; ungraded and unfinished ones are no attempts. *reward*: the primary one (`Job.reward`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from benchloop_client.contract.resources import Record


class Rate(Record, frozen=True, kw_only=True):
    """`value` = numerator / denominator, from 0 to 1; null when the denominator is 0."""

    value: float | None
    numerator: int
    denominator: int


class Spread(Record, frozen=True, kw_only=True):
    """Over the `n` jobs that recorded the value; the rest is null when `n` is 0."""

    n: int
    mean: float | None = None
    min: float | None = None
    max: float | None = None


class Distribution(Spread, frozen=True, kw_only=True):
    """A spread with two quantiles, each the value of a real job (nearest rank, rounded down)."""

    p50: float | None = None
    p95: float | None = None


class Total(Record, frozen=True, kw_only=True):
    """`total` over the `jobs` that recorded the value; null when there is none."""

    jobs: int
    total: float | None = None
    mean: float | None = None


class Outcomes(Record, frozen=True, kw_only=True):
    """Jobs per outcome (see `contract.outcome`); `unfinished` ones are pending or running. They add up to `present`."""

    passed: int
    partial: int
    failed: int
    errored: int
    ungraded: int
    unfinished: int


class Statuses(Record, frozen=True, kw_only=True):
    """Jobs per lifecycle status. They add up to `present`."""

    pending: int
    running: int
    completed: int
    cancelled: int


class RewardValidity(Record, frozen=True, kw_only=True):
    """Jobs with a reward, by what is known of its validity; `missing` have none."""

    valid: int
    invalid: int
    unknown: int
    missing: int


class PassAtK(Record, frozen=True, kw_only=True):
    """Unbiased estimate (1 - C(n-c, k) / C(n, k)) per (task, step) with n >= k attempts of which c passed; `value` is the mean over these
    `tasks`.
    """

    k: int
    value: float
    tasks: int


class ErrorCount(Record, frozen=True, kw_only=True):
    """Jobs with this error type; `graded` of them have a usable reward all the same."""

    error_type: str
    jobs: int
    graded: int


class FailCount(Record, frozen=True, kw_only=True):
    """Jobs that failed for this reason, as the analysis says."""

    fail_reason: str
    sub_fail_reason: str | None
    jobs: int


class Tokens(Record, frozen=True, kw_only=True):
    """Tokens as recorded by the source, a job. `input` includes cached ones."""

    input: Total
    cached: Total
    output: Total


class Slice(Record, frozen=True, kw_only=True):
    """Counts over a set of jobs. `tasks` are distinct tasks; `duration_s` in seconds; `cost_usd` in US dollars.

    `pass_rate`: passed / attempts (an errored attempt did not pass). `pass_rate_graded`: passed / graded. `reward`: primary reward over
    graded jobs. `rewards`: each reward key over the jobs that hold it and whose reward is not known to be invalid. `errors`: most frequent
    first; so are `fail_reasons`, of the jobs that are analysed. `group_id` null: every job that the key can read.
    """

    group_id: str | None
    present: int
    tasks: int
    statuses: Statuses
    outcomes: Outcomes
    reward_validity: RewardValidity
    pass_rate: Rate
    pass_rate_graded: Rate
    reward: Spread
    rewards: dict[str, Spread]
    errors: list[ErrorCount]
    fail_reasons: list[FailCount] = msgspec.field(default_factory=list)
    tokens: Tokens
    cost_usd: Total
    duration_s: Distribution
    n_steps: Distribution
    n_tool_calls: Spread
    with_trajectory: int
    with_artifacts: int


class StepSummary(Record, frozen=True, kw_only=True):
    """One training step of a group; `step` is null for jobs without one."""

    step: int | None
    present: int
    tasks: int
    outcomes: Outcomes
    pass_rate: Rate
    pass_rate_graded: Rate
    reward: Spread
    pass_at_k: list[PassAtK]


class EvalSummary(Slice, frozen=True, kw_only=True):
    """E5. `missing` = expected - present, not below 0; both null when the run does not say how many jobs it planned."""

    expected: int | None
    missing: int | None
    outcome_rule: int
    pass_at_k: list[PassAtK]
    steps: list[StepSummary]


class JobStats(Slice, frozen=True, kw_only=True):
    """E9. Over one group or all; `groups` of them have at least one job."""

    groups: int


class EvalTask(Record, frozen=True, kw_only=True):
    """One task of a group, over all of its steps.

    `status`: `passed` (every ended job passed), `mixed` (some did), `partial` (none passed, some partly), `failed` (graded, none above 0),
    `errored` (none graded, some errored), `ungraded` (ended without grade or error), `unfinished` (none has ended). `jobs` are all present
    ones, `attempts` as above; `reward.max` is the best reward.
    """

    task_id: str
    status: str
    jobs: int
    attempts: int
    outcomes: Outcomes
    pass_rate: Rate
    reward: Spread
    steps: list[int]


TASK_STATUSES = ("passed", "mixed", "partial", "failed", "errored", "ungraded", "unfinished")


class EvalTasks(Record, frozen=True, kw_only=True):
    """E6, ordered by task id. `total` counts all tasks under the same filters."""

    group_id: str
    total: int
    skip: int
    limit: int
    tasks: list[EvalTask]


class JobMetrics(Record, frozen=True, kw_only=True):
    """E1, and a row of E2. `metrics`: the recorded facts (reward, outcome, tokens, cost). `run_metrics`: the names of
    `contract.metrics.JOB_RUN`. `tokenized_metrics`: those of `JOB_TOKEN`.
    """

    job_id: str
    group_id: str
    task_id: str
    metrics: dict[str, Any]
    run_metrics: dict[str, float | None]
    tokenized_metrics: dict[str, float | None]


class GroupMetrics(Record, frozen=True, kw_only=True):
    """E3: the documented names of `contract.metrics.GROUP_RUN` and `group_token_names()`."""

    group_id: str
    run_metrics: dict[str, float | None]
    tokenized_metrics: dict[str, float | None]


class MetricsPage(Record, frozen=True, kw_only=True):
    """E2: a row for every present job, ordered as the job list; `tokenized_metrics` are the group's."""

    group_id: str
    total: int
    skip: int
    limit: int
    metrics: list[JobMetrics]
    tokenized_metrics: dict[str, float | None]
    next_cursor: str | None = None


class JobIds(Record, frozen=True, kw_only=True):
    """E15: every job of the group, in the order of the job list."""

    group_id: str
    total: int
    job_ids: list[str]


class JobMeta(msgspec.Struct, frozen=True, kw_only=True):
    """E29: what the source said about the job beside the facts. `phases` are timed parts, RFC 3339; `meta` is the source's own record."""

    job_id: str
    group_id: str
    task_id: str
    trial_key: str
    attempt: int
    step: int | None
    instance_id: str | None
    template: str | None
    model: str | None
    agent: str | None
    agent_version: str | None
    source: dict[str, Any] | None
    phases: dict[str, Any]
    meta: dict[str, Any]
    fingerprint: str
    trajectory_sha256: str | None
    archive_sha256: str | None
    created_at: str
    updated_at: str
