"""What the analysis takes and gives: the facts and texts of a job, its events, the evidence of a finding, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from benchloop_client.contract import resources

Source = Literal["system", "user", "agent"]
#: What a call does. `message` is a step without a call.
Kind = Literal[
    "message",
    "read",
    "search",
    "list",
    "edit",
    "write",
    "delete",
    "run",
    "test",
    "build",
    "install",
    "network",
    "vcs",
    "plan",
    "ask",
    "submit",
    "noop",
    "other",
]
#: E explores before the first change, I changes files, V checks after a change, O is anything else.
Phase = Literal["E", "I", "V", "O"]
#: A: a recorded fact; B: the structure of the run; C: words that somebody wrote; D: what is left when nothing else explains it.
Tier = Literal["A", "B", "C", "D"]
FaultSide = Literal["model", "harness", "environment", "model_api", "grader", "task", "unknown"]

UNKNOWN = "unknown"


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Base of the records of this room."""


# ---- what comes in ------------------------------------------------------------------------------------------------------------------


class Facts(Struct, frozen=True, kw_only=True):
    """The facts of a job that a verdict may rest on, as recorded; None where the source does not say. Times are RFC 3339."""

    task_id: str
    status: str
    error_type: str | None = None
    error_message: str | None = None
    reward: float | None = None
    reward_key: str | None = None
    rewards: Mapping[str, float | None] = {}
    reward_valid: bool | None = None
    agent: str | None = None
    model: str | None = None
    step: int | None = None
    started_at: str | None = None
    finished_at: str | None = None
    phases: Mapping[str, resources.Phase] = {}
    format: str | None = None
    meta: Mapping[str, Any] = {}

    @classmethod
    def of(cls, job: resources.JobFacts) -> Facts:
        """The facts as a push sends them."""
        given = {name: getattr(job, name) for name in cls.__struct_fields__ if name != "format"}
        return cls(format=job.source.format if job.source else None, **given)


class File(Struct, frozen=True, kw_only=True):
    """One text of the job's archive, `path` as in the archive. `whole` is False where the middle of a long one was left out."""

    path: str
    text: str
    whole: bool = True


class Siblings(Struct, frozen=True, kw_only=True):
    """What other jobs of the same task show: how many there are, how many passed, and the median number of steps."""

    jobs: int
    passed: int
    median_steps: float | None = None


class JobInput(Struct, frozen=True, kw_only=True):
    """One job to judge. `document` is its trajectory in the normal form, None without one; `files` those that `sources.wanted` names."""

    job_id: str
    facts: Facts
    document: Mapping[str, Any] | None = None
    files: tuple[File, ...] = ()
    siblings: Siblings | None = None


# ---- what happened ------------------------------------------------------------------------------------------------------------------


class Command(Struct, frozen=True, kw_only=True, gc=False):
    """One program that a shell command starts. `words` are its arguments without quotes, `writes` the files it is redirected to."""

    program: str
    words: tuple[str, ...]
    kind: Kind
    paths: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    background: bool = False


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One call with its result, or a step without a call (`kind` is `message`, `tool` None).

    `position` counts all events from 0; `call` and `result` are places in the step's `tool_calls` and `observation.results`. `text` and
    `thinking` are the step's and stand on its first event. `command` is the shell text of the argument named `command_field`. `key` is
    equal for equal calls, `output_key` for equal outputs. `paths` are files named, `writes` files changed. `error_at` is where in `output`
    the line lies that `error_class` was read from, `signature` that line without numbers, names and paths. `at` is in seconds since 1970;
    `seconds` lasts to the next step.
    """

    position: int
    step_id: int
    source: Source
    kind: Kind
    phase: Phase = "O"
    text: str = ""
    thinking: str = ""
    tool: str | None = None
    call: int | None = None
    result: int | None = None
    arguments: Mapping[str, Any] = {}
    command: str | None = None
    command_field: str | None = None
    commands: tuple[Command, ...] = ()
    key: str = ""
    paths: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    output: str | None = None
    output_field: str = ""
    output_key: str = ""
    is_error: bool = False
    error_class: str | None = None
    error_at: int | None = None
    signature: str | None = None
    exit_code: int | None = None
    truncated: bool = False
    at: float | None = None
    seconds: float | None = None
    stop_reason: str | None = None
    completion_tokens: int | None = None


class Trajectory(Struct, frozen=True, kw_only=True):
    """The events of a job in order, and the sums over them that reports and statistics ask for.

    `instruction` is the first text of the user, at `instruction_step`. `phases` is the row of phases without repeats, such as `EIVIV`.
    `seconds` is from the first to the last time that is recorded.
    """

    events: tuple[Event, ...]
    instruction: str = ""
    instruction_step: int | None = None
    n_steps: int = 0
    n_agent_steps: int = 0
    n_calls: int = 0
    n_errors: int = 0
    kinds: Mapping[str, int] = {}
    tools: Mapping[str, int] = {}
    phases: str = ""
    first_change_step: int | None = None
    seconds: float | None = None


# ---- what it means ------------------------------------------------------------------------------------------------------------------


class Evidence(Struct, frozen=True, kw_only=True):
    """A place that a reader can open, and what stands there word for word (at most 200 characters).

    `source` step: `field` is a place in that step, such as `observation.results[0].content`. fact: `field` is a name in the job's facts.
    file: `field` is a path in the archive. A value that is no text is quoted as its compact JSON. `start` counts characters in that text;
    None where only a part of it was read.
    """

    rule_id: str
    source: Literal["step", "fact", "file"]
    field: str
    quote: str
    step_id: int | None = None
    start: int | None = None


class Label(Struct, frozen=True, kw_only=True):
    """One rule that fired. `says` is a sentence for people. `first_step` is the first step it cites."""

    rule_id: str
    fail_reason: str
    sub_fail_reason: str
    tier: Tier
    fault_side: FaultSide
    says: str
    evidence: tuple[Evidence, ...]
    first_step: int | None = None
    wasted_steps: int = 0
    wasted_seconds: float | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """Why a job failed. The reasons are None for a job that passed, has not ended or was never graded; `unknown` where nothing is evidence.

    `reward_valid` is decided apart from the reason: False, True, or None where nothing tells. `reward_evidence` says why.
    `integrity` are suspicions, on passes too; they change no reward. `ruleset_version` is the names of the rule files and a digest.
    """

    fail_reason: str | None
    sub_fail_reason: str | None
    tier: Tier | None
    fault_side: FaultSide | None
    says: str
    outcome: str | None
    reward_valid: bool | None
    reward_evidence: tuple[Evidence, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    secondary: tuple[Label, ...] = ()
    integrity: tuple[Label, ...] = ()
    first_signal_step: int | None = None
    wasted_steps: int = 0
    wasted_seconds: float | None = None
    ruleset_version: str


class Signature(Struct, frozen=True, kw_only=True):
    """Errors of one job that read alike: how often, in which steps (at most 20), and the seconds spent on them."""

    tool: str
    error_class: str
    template: str
    count: int
    steps: tuple[int, ...]
    seconds: float | None
    example: Evidence


class Signal(Struct, frozen=True, kw_only=True):
    """Something counted in one job that only means something across jobs: `hits` of `of`, with an example.

    `silent_hits` of the hits returned nothing, and so did `silent_others` of the rest: what the distortion does.
    """

    name: str
    subject: str
    hits: int
    of: int
    silent_hits: int = 0
    silent_others: int = 0
    example: Evidence | None = None


class VerifierReport(Struct, frozen=True, kw_only=True):
    """What the verifier's report says: counts, and the names of the tests that failed. `path` is the file it was read from."""

    path: str
    passed: int
    failed: int
    total: int
    failed_names: tuple[str, ...] = ()
    evidence: Evidence | None = None


class JobAnalysis(Struct, frozen=True, kw_only=True):
    """All that the analysis says about one job. `trajectory` is left out of what is stored: it can be read again."""

    job_id: str
    verdict: Verdict
    tests: VerifierReport | None = None
    signatures: tuple[Signature, ...] = ()
    signals: tuple[Signal, ...] = ()
    trajectory: Trajectory | None = None
