"""What the analysis of runs is asked for and what it answers: reports, weakness reports (rsi), and behaviour tasks.

`status` of a report is `queued`, `running`, `succeeded` or `failed`, and `not_analysed` where nobody has asked for
it; other words may join them. Asking again for the same thing over the same data is the same request: it causes no second analysis.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from benchloop_client.contract.resources import Record, Sent

NOT_ANALYSED = "not_analysed"
QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED = "queued", "running", "succeeded", "failed", "cancelled"
#: There is no answer yet, or there will be a newer one.
UNFINISHED = frozenset({NOT_ANALYSED, QUEUED, RUNNING})
Kind = Literal["report", "rsi"]
SamplingMode = Literal["step", "all_jobs"]

#: A behaviour task looks at no more training steps than this.
MAX_STEPS = 20
#: Jobs drawn from each step, and patterns given, where a task does not say.
SAMPLE_SIZE, SCORING_LIMIT = 512, 32
#: No task may ask for more jobs a step, or more patterns.
LARGEST = 1_000_000


# ---- reports ------------------------------------------------------------------------------------------------------------------------


class ReportText(Record, frozen=True, kw_only=True):
    """One report: Markdown, and when it was written."""

    content: str
    created_at: str


class JobReport(Record, frozen=True, kw_only=True):
    """E17. `reports`: newest first, empty until there is one; the reasons are null for a job that passed or is not analysed.

    `reward_valid` is what the analysis says of the reward, null where nothing tells. `evidence` are places in the record with the words
    that stand there, `secondary` what else was seen, `wasted_seconds` null without times. `report` is all of it as `bl analyze -o`
    writes it (docs/guides/why-did-it-fail.md). `opinion`: what a model made of it, null where none was asked. `error`: why there is
    none, where `status` is `failed`.
    """

    job_id: str
    status: str
    reports: list[ReportText]
    fail_reason: str | None
    sub_fail_reason: str | None
    tier: str | None = None
    fault_side: str | None = None
    reward_valid: bool | None = None
    says: str | None = None
    evidence: list[dict[str, Any]] = msgspec.field(default_factory=list)
    secondary: list[dict[str, Any]] = msgspec.field(default_factory=list)
    wasted_steps: int | None = None
    wasted_seconds: float | None = None
    ruleset_version: str | None = None
    opinion: dict[str, Any] | None = None
    report: dict[str, Any] | None = None
    error: str | None = None


class GroupReport(Record, frozen=True, kw_only=True):
    """E18. As E17; the reasons of single jobs are always null here.

    `headline` states the pass rate with and without invalid rewards. `reasons` is the distribution of reasons, each with its sub-reasons,
    the most frequent first; `findings` are faults that concern several jobs. `judge`: what a model's opinions amounted to, and cost; null
    where none was asked. `report` is all of it.
    """

    group_id: str
    status: str
    reports: list[ReportText]
    fail_reason: str | None
    sub_fail_reason: str | None
    headline: str | None = None
    rewards: dict[str, Any] | None = None
    reasons: list[dict[str, Any]] = msgspec.field(default_factory=list)
    findings: list[dict[str, Any]] = msgspec.field(default_factory=list)
    judge: dict[str, Any] | None = None
    report: dict[str, Any] | None = None
    error: str | None = None


class JobRsiText(Record, frozen=True, kw_only=True):
    """The weakness report of a job, Markdown. `costs`: the three things that cost most; `sibling`: the passing attempt beside it."""

    report_md: str
    created_at: str | None = None
    costs: list[dict[str, Any]] = msgspec.field(default_factory=list)
    sibling: str | None = None
    ruleset_version: str | None = None


class GroupRsiText(Record, frozen=True, kw_only=True):
    """The weakness report of a group, Markdown. `weaknesses`: by tasks lost, each with examples; `tasks`: all that were tried;
    `not_the_agent`: failed jobs whose fault lies elsewhere, by side; `unknown`: those without a known reason.
    """

    summary_md: str
    created_at: str | None = None
    headline: str | None = None
    weaknesses: list[dict[str, Any]] = msgspec.field(default_factory=list)
    tasks: int | None = None
    not_the_agent: dict[str, int] = msgspec.field(default_factory=dict)
    unknown: int | None = None


class JobRsi(Record, frozen=True, kw_only=True):
    """E21. `report` is null until there is one; `error` as in E17."""

    job_id: str
    status: str
    report: JobRsiText | None
    error: str | None = None


class GroupRsi(Record, frozen=True, kw_only=True):
    """E22. `report` is null until there is one; `error` as in E17."""

    group_id: str
    status: str
    report: GroupRsiText | None
    error: str | None = None


class JobTrigger(Sent, frozen=True, kw_only=True):
    """Body of E19 and E23: nothing."""


class GroupTrigger(Sent, frozen=True, kw_only=True):
    """Body of E20 and E24. Every job has a verdict from its push on. Without `include_passed` the request is about the jobs that did not
    pass: only their verdicts are made anew, where the rules changed or something failed; with it, those of all jobs are.
    """

    include_passed: bool = False


class JobTriggered(Record, frozen=True, kw_only=True):
    """Answer of E19 and E23: the request as it is kept, with the time at which it was first made. `include_passed` is null."""

    job_id: str
    kind: Kind
    status: str
    include_passed: bool | None
    requested_at: str
    requested_by: str | None


class GroupTriggered(Record, frozen=True, kw_only=True):
    """Answer of E20 and E24: the request as it is kept, with the time at which it was first made. `jobs`: how many it is about now."""

    group_id: str
    kind: Kind
    status: str
    include_passed: bool
    jobs: int | None = None
    requested_at: str
    requested_by: str | None


# ---- behaviour ----------------------------------------------------------------------------------------------------------------------


class BehaviorSteps(Record, frozen=True, kw_only=True):
    """E30: the training steps of a group's jobs, ascending. A group without any is looked at as a whole (`all_jobs`)."""

    group_id: str
    steps: list[int]
    sampling_mode: SamplingMode = msgspec.field(name="samplingMode")
    has_step: bool = msgspec.field(name="hasStep")


class BehaviorTaskCreate(Sent, frozen=True, kw_only=True, rename="camel"):
    """Body of E31. In mode `step`: 1 to 20 of the group's `steps`, and `sampleSize` jobs of each (512). In mode `all_jobs`: neither.

    `scoringLimit` is the number of patterns wanted. The group decides the mode; a `samplingMode` that is given has to be that one.
    """

    group_id: str
    steps: list[int] = msgspec.field(default_factory=list)
    sample_size: int | None = None
    scoring_limit: int = SCORING_LIMIT
    sampling_mode: SamplingMode | None = None


class Progress(Record, frozen=True, kw_only=True):
    """Jobs looked at, of all that the task looks at; null until it has begun."""

    done: int | None
    total: int | None


class BehaviorTask(Record, frozen=True, kw_only=True):
    """E31, E33, and a row of E32. `sampleSize` is null in mode `all_jobs`.

    `status` is `queued`, `running`, `succeeded`, `failed` (`error` says why) or `cancelled`.
    """

    uid: str
    group_id: str
    status: str
    steps: list[int]
    sampling_mode: SamplingMode = msgspec.field(name="samplingMode")
    sample_size: int | None = msgspec.field(name="sampleSize")
    scoring_limit: int = msgspec.field(name="scoringLimit")
    progress: Progress
    created_at: str
    created_by: str | None
    finished_at: str | None = None
    error: str | None = None


class BehaviorTasks(Record, frozen=True, kw_only=True):
    """E32: every task of a group, newest first."""

    group_id: str
    total: int
    tasks: list[BehaviorTask]


class BehaviorAnalysis(Record, frozen=True, kw_only=True):
    """E34. `summary` is null and the lists are empty until the task has succeeded; `error` says why one failed.

    `summary` is Markdown, `summaryData` the numbers in it: how many jobs, valid rewards, tasks, and tasks with unequal rewards; what could
    not have been seen; warnings. `categoryScores`: `practice` (0 to 100) and `impact` (points of reward) of each category, with intervals.
    `behaviorPatterns`: at most `scoringLimit` of `patternsTotal` behaviours, each compared within the same task, with the raw one
    beside it, its `status`, and `examples` that cite job and steps. `model`: how well behaviours predict reward;
    `steps`: curves over training steps; `provenance`: what it takes to get the same again. All fields:
    docs/concepts/behaviour-reward-model.md.
    """

    uid: str
    status: str
    summary: str | None
    summary_data: dict[str, Any] | None = msgspec.field(name="summaryData", default=None)
    category_scores: list[dict[str, Any]] = msgspec.field(name="categoryScores")
    behavior_patterns: list[dict[str, Any]] = msgspec.field(name="behaviorPatterns")
    patterns_total: int | None = msgspec.field(name="patternsTotal", default=None)
    model: dict[str, Any] | None = None
    steps: dict[str, Any] | None = None
    provenance: dict[str, Any] | None = None
    sampling_mode: SamplingMode = msgspec.field(name="samplingMode")
    error: str | None = None
