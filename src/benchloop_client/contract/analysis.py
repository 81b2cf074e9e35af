"""What the analysis of runs is asked for and what it answers: reports, weakness reports (rsi), and behaviour tasks.

`status` is `not_analysed` until the analysis has an answer; other words may join it. Asking again for the same thing over the same data is
the same request: it gets the same answer and causes no second analysis.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from benchloop_client.contract.resources import Record, Sent

NOT_ANALYSED = "not_analysed"
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
    """E17. `reports`: newest first, empty until there is one; the reasons are null for a job that passed or is not analysed."""

    job_id: str
    status: str
    reports: list[ReportText]
    fail_reason: str | None
    sub_fail_reason: str | None


class GroupReport(Record, frozen=True, kw_only=True):
    """E18. As E17; the reasons are a job's and always null here."""

    group_id: str
    status: str
    reports: list[ReportText]
    fail_reason: str | None
    sub_fail_reason: str | None


class JobRsiText(Record, frozen=True, kw_only=True):
    """The weakness report of a job, Markdown."""

    report_md: str


class GroupRsiText(Record, frozen=True, kw_only=True):
    """The weakness report of a group, Markdown."""

    summary_md: str


class JobRsi(Record, frozen=True, kw_only=True):
    """E21. `report` is null until there is one."""

    job_id: str
    status: str
    report: JobRsiText | None


class GroupRsi(Record, frozen=True, kw_only=True):
    """E22. `report` is null until there is one."""

    group_id: str
    status: str
    report: GroupRsiText | None


class JobTrigger(Sent, frozen=True, kw_only=True):
    """Body of E19 and E23: nothing."""


class GroupTrigger(Sent, frozen=True, kw_only=True):
    """Body of E20 and E24. `include_passed`: jobs that passed are looked at too."""

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
    """Answer of E20 and E24: the request as it is kept, with the time at which it was first made."""

    group_id: str
    kind: Kind
    status: str
    include_passed: bool
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
    """E31, E33, and a row of E32. `sampleSize` is null in mode `all_jobs`."""

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


class BehaviorTasks(Record, frozen=True, kw_only=True):
    """E32: every task of a group, newest first."""

    group_id: str
    total: int
    tasks: list[BehaviorTask]


class CategoryScore(Record, frozen=True, kw_only=True):
    """How much one category of behaviour goes with reward; see the task's patterns for what it consists of."""

    category: str
    score: float | None


class BehaviorPattern(Record, frozen=True, kw_only=True):
    """One behaviour that was found, in words."""

    name: str
    category: str
    description: str
    score: float | None


class BehaviorAnalysis(Record, frozen=True, kw_only=True):
    """E34. `summary` is null and the lists are empty until the task has been worked off."""

    uid: str
    status: str
    summary: str | None
    category_scores: list[CategoryScore] = msgspec.field(name="categoryScores")
    behavior_patterns: list[BehaviorPattern] = msgspec.field(name="behaviorPatterns")
    sampling_mode: SamplingMode = msgspec.field(name="samplingMode")
