"""What the analysis says about a whole group: rewards, reasons, errors, and what is wrong across jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from benchloop_analysis.intervals import PassAtK, Rate
from benchloop_analysis.records import Evidence, FaultSide, Struct, Tier

FindingKind = Literal["same_fault", "signal", "same_error"]


class GroupFacts(Struct, frozen=True, kw_only=True):
    """What is known of a group beside its jobs. `expected` is how many jobs its own plan says, None without a plan."""

    group_id: str
    name: str | None = None
    benchmark: str | None = None
    expected: int | None = None


class Example(Struct, frozen=True, kw_only=True):
    """A job to look at, and the step where to look, if there is one."""

    job_id: str
    step_id: int | None = None
    evidence: Evidence | None = None


class Rewards(Struct, frozen=True, kw_only=True):
    """Which rewards mean something, and how many jobs passed, counted both ways. All counts are of jobs that ended.

    Each ended job is `valid`, `invalid` (the reward says nothing), or `missing` (no reward and no fault of the grading is known).
    `passed` is of all ended jobs as recorded, `passed_valid` of the valid ones. Mean rewards are None without any reward.
    """

    ended: int
    valid: int
    invalid: int
    missing: int
    passed: Rate
    passed_valid: Rate
    mean_reward: float | None
    mean_reward_valid: float | None


class SubReason(Struct, frozen=True, kw_only=True):
    """One sub-reason: its share of the failed jobs, how sure it is, and a few jobs."""

    sub_fail_reason: str
    share: Rate
    tiers: Mapping[str, int]
    wasted_seconds: float
    examples: tuple[Example, ...]


class Reason(Struct, frozen=True, kw_only=True):
    """One reason with its sub-reasons, the most frequent first."""

    fail_reason: str
    share: Rate
    fault_sides: Mapping[str, int]
    wasted_steps: int
    wasted_seconds: float
    subs: tuple[SubReason, ...]


class Row(Struct, frozen=True, kw_only=True):
    """The jobs that share a task, an agent, a model or a step. `reasons`: `reason/sub` and how often, the most frequent first."""

    key: str
    jobs: int
    rewards: Rewards
    reasons: Mapping[str, int]


class Rows(Struct, frozen=True, kw_only=True):
    """`total` rows in all, of which `left_out` are not in `rows`; those that lost most jobs come first."""

    total: int
    left_out: int
    rows: tuple[Row, ...]


class ErrorSignature(Struct, frozen=True, kw_only=True):
    """Errors that read alike in several jobs: `count` of them in `jobs` jobs, `seconds` spent on them (None: no times recorded)."""

    tool: str
    error_class: str
    template: str
    jobs: int
    count: int
    seconds: float | None
    first_seen: str | None
    example: Example


class Signatures(Struct, frozen=True, kw_only=True):
    """The most expensive first. `dropped` rare ones were forgotten on the way, to keep the memory small."""

    ranked_by: Literal["seconds", "count"]
    total: int
    dropped: int
    rows: tuple[ErrorSignature, ...]


class Finding(Struct, frozen=True, kw_only=True):
    """Something that concerns several jobs at once. `jobs`: how many of those that could show it; `hits`: how many places of all."""

    kind: FindingKind
    name: str
    says: str
    tier: Tier
    fault_side: FaultSide
    suspected: bool
    jobs: Rate
    hits: Rate | None = None
    wasted_seconds: float | None = None
    examples: tuple[Example, ...] = ()


class TaskNote(Struct, frozen=True, kw_only=True):
    """A task whose grading looks wrong: `verifier_flaky` or `task_defect_suspected`."""

    task_id: str
    sub_fail_reason: Literal["verifier_flaky", "task_defect_suspected"]
    says: str
    examples: tuple[Example, ...]


class JudgeSummary(Struct, frozen=True, kw_only=True):
    """What a model's opinions amounted to. `wanted`: jobs of which the rules were not sure; `decided`: those of them where enough answers
    agreed on a label, whose quotes are true. `not_asked`: the budget was used up. `models`: name and number of opinions.
    """

    models: Mapping[str, int]
    wanted: int
    decided: Rate
    refined: int
    agreed: int
    abstained: int
    refused: int
    not_asked: int
    cost_usd: float


class GroupReport(Struct, frozen=True, kw_only=True):
    """All that the analysis says about a group. `headline` states the pass rate both ways. `method` names how intervals were made.

    Lists are bounded and say how many there are in all. `judge` is None where no model was asked.
    """

    group_id: str
    name: str | None
    benchmark: str | None
    headline: str
    notices: tuple[str, ...]
    expected: int | None
    present: int
    running: int
    analysed: int
    rewards: Rewards
    pass_at_k: tuple[PassAtK, ...]
    failed: int
    unknown: Rate
    reasons: tuple[Reason, ...]
    by_task: Rows
    by_agent: Rows
    by_model: Rows
    by_step: Rows
    findings: tuple[Finding, ...]
    task_notes: tuple[TaskNote, ...]
    task_notes_total: int
    signatures: Signatures
    wasted_steps: int
    wasted_seconds: float
    method: str
    ruleset_versions: Mapping[str, int]
    judge: JudgeSummary | None = None
