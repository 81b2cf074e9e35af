"""The counters behind a group's report: small, addable, and storable, whatever the number of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from benchloop_analysis.group_records import Example
from benchloop_analysis.records import Facts, JobAnalysis, Label, Signal, Verdict, VerifierReport

EXAMPLES = 3
#: Distinct agents, models and steps that are told apart; the rest is counted together under `OTHERS`.
KEYS = 1_000
OTHERS = "(others)"
#: Error signatures that are remembered; at twice as many the cheaper half is forgotten.
SIGNATURES = 4_000
#: Names of failed tests that are compared between the attempts at a task.
_NAMES = 40
_REPORTS = 6
#: From this share of a job's places on, a signal marks the job.
_MARKED = 0.3

T = TypeVar("T", bound="Addable")


class Addable(msgspec.Struct):
    """Counters that can take in others of their kind."""

    def take(self, other: Any) -> None:
        """Add the counts of `other`; what is kept as an example stays the first."""
        raise NotImplementedError


def add_to(table: MutableMapping[str, T], other: Mapping[str, T]) -> None:
    """Add each counter of `other` to its namesake."""
    for key, value in other.items():
        mine = table.get(key)
        if mine is None:
            table[key] = value
        else:
            mine.take(value)


def count_in(table: MutableMapping[str, int], key: str, by: int = 1) -> None:
    """`table[key] += by`, from 0."""
    table[key] = table.get(key, 0) + by


def first(kept: list[Example], more: Iterable[Example]) -> None:
    """Keep the first few examples, one a job."""
    for example in more:
        if len(kept) >= EXAMPLES:
            return
        if all(example.job_id != other.job_id for other in kept):
            kept.append(example)


def bounded_key(table: Mapping[str, Any], key: str) -> str:
    """The key, or `OTHERS` where the table is full."""
    return key if key in table or len(table) < KEYS else OTHERS


class Outcomes(Addable, gc=False):
    """Jobs by what became of their reward; `attempts` and `passes` of pass@k are `valid` and `passed_valid`."""

    jobs: int = 0
    running: int = 0
    valid: int = 0
    invalid: int = 0
    missing: int = 0
    passed: int = 0
    passed_valid: int = 0
    rewarded: int = 0
    reward_sum: float = 0.0
    valid_sum: float = 0.0

    @property
    def ended(self) -> int:
        """Jobs that are neither waiting nor running."""
        return self.jobs - self.running

    def add(self, analysis: JobAnalysis, facts: Facts) -> None:
        """Count one job."""
        self.jobs += 1
        if facts.status in {"pending", "running"}:
            self.running += 1
            return
        reward, passed = facts.reward, facts.reward is not None and facts.reward >= 1
        self.passed += passed
        if reward is not None:
            self.rewarded += 1
            self.reward_sum += reward
        if analysis.verdict.reward_valid is False:
            self.invalid += 1
        elif reward is None:
            self.missing += 1
        else:
            self.valid += 1
            self.passed_valid += passed
            self.valid_sum += reward

    def take(self, other: Outcomes) -> None:
        """Add the counts of `other`."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Part(Addable):
    """The jobs that share an agent, a model or a step, with their `reason/sub` labels."""

    outcomes: Outcomes = msgspec.field(default_factory=Outcomes)
    labels: dict[str, int] = {}

    def add(self, analysis: JobAnalysis, facts: Facts) -> None:
        """Count one job."""
        self.outcomes.add(analysis, facts)
        label = label_of(analysis)
        if label is not None:
            count_in(self.labels, label)

    def take(self, other: Part) -> None:
        """Add the counts of `other`."""
        self.outcomes.take(other.outcomes)
        for label, count in other.labels.items():
            count_in(self.labels, label, count)


class Attempts(Part):
    """The attempts at one task in one step, and what its verifier said about them.

    `failing` are tests that failed in each of the `reported` failed attempts; `reports` is digest of a report → the rewards it came with;
    `weak` are the labels on the agent's side of attempts that failed.
    """

    task_id: str = ""
    step: int | None = None
    reported: int = 0
    failing: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()
    oracle_failed: list[Example] = []
    failed: list[Example] = []
    reports: dict[str, list[tuple[float, str]]] = {}

    def add(self, analysis: JobAnalysis, facts: Facts) -> None:
        """Count one attempt."""
        Part.add(self, analysis, facts)
        self.weak = self.weak.union(one.label for one in weaknesses(analysis))
        reward = facts.reward
        if reward is None or analysis.verdict.reward_valid is False:
            return
        if reward < 1:
            self._failed(analysis, facts)
        if analysis.tests is not None and analysis.tests.total:
            self._report(_digest(analysis.tests), [(reward, analysis.job_id)])

    def _failed(self, analysis: JobAnalysis, facts: Facts) -> None:
        example = Example(job_id=analysis.job_id)
        first(self.failed, [example])
        if (facts.agent or "").lower() == "oracle":
            first(self.oracle_failed, [example])
        if analysis.tests is None or not analysis.tests.failed_names:
            return
        names = frozenset(analysis.tests.failed_names[:_NAMES])
        self._shared(1, names, frozenset([f"{facts.agent} {facts.model}"]))

    def _shared(self, reported: int, names: frozenset[str], agents: frozenset[str]) -> None:
        if not reported:
            return
        self.failing = names & self.failing if self.reported else names
        self.reported += reported
        if len(self.agents) < _REPORTS:
            self.agents |= agents

    def _report(self, digest: str, rewards: Iterable[tuple[float, str]]) -> None:
        if digest not in self.reports and len(self.reports) >= _REPORTS:
            return
        kept = self.reports.setdefault(digest, [])
        for reward, job_id in rewards:
            if len(kept) < 2 and all(reward != other for other, _ in kept):
                kept.append((reward, job_id))

    def take(self, other: Part) -> None:
        """Add the counts of `other`."""
        Part.take(self, other)
        if isinstance(other, Attempts):
            self._shared(other.reported, other.failing, other.agents)
            self.weak |= other.weak
            first(self.failed, other.failed)
            first(self.oracle_failed, other.oracle_failed)
            for digest, rewards in other.reports.items():
                self._report(digest, rewards)


class LabelTally(Addable):
    """Jobs with one primary `reason/sub`."""

    jobs: int = 0
    tiers: dict[str, int] = {}
    sides: dict[str, int] = {}
    wasted_steps: int = 0
    wasted_seconds: float = 0.0
    examples: list[Example] = []

    def add(self, analysis: JobAnalysis) -> None:
        """Count one job."""
        verdict = analysis.verdict
        self.jobs += 1
        count_in(self.tiers, verdict.tier or "D")
        count_in(self.sides, verdict.fault_side or "unknown")
        self.wasted_steps += verdict.wasted_steps
        self.wasted_seconds += verdict.wasted_seconds or 0.0
        evidence = verdict.evidence[0] if verdict.evidence else None
        step = evidence.step_id if evidence is not None else verdict.first_signal_step
        first(self.examples, [Example(job_id=analysis.job_id, step_id=step, evidence=evidence)])

    def see(self, weak: Weak) -> None:
        """Count one job that shows a weakness, be it its verdict or not."""
        self.jobs += 1
        self.wasted_steps += weak.wasted_steps
        self.wasted_seconds += weak.wasted_seconds
        first(self.examples, [weak.example])

    def take(self, other: LabelTally) -> None:
        """Add the counts of `other`."""
        self.jobs += other.jobs
        self.wasted_steps += other.wasted_steps
        self.wasted_seconds += other.wasted_seconds
        for key, count in other.tiers.items():
            count_in(self.tiers, key, count)
        for key, count in other.sides.items():
            count_in(self.sides, key, count)
        first(self.examples, other.examples)


class SignalTally(Addable):
    """One signal: `jobs` that could show it, `hit_jobs` that do at all, `marked_jobs` that do in at least 30 % of their places."""

    jobs: int = 0
    hit_jobs: int = 0
    marked_jobs: int = 0
    hits: int = 0
    of: int = 0
    silent_hits: int = 0
    silent_others: int = 0
    examples: list[Example] = []

    def add(self, job_id: str, signal: Signal) -> None:
        """Count one job."""
        example = signal.example
        shown = Example(job_id=job_id, step_id=example.step_id if example is not None else None, evidence=example)
        self.take(
            SignalTally(
                jobs=1,
                hit_jobs=int(signal.hits > 0),
                marked_jobs=int(signal.of > 0 and signal.hits >= _MARKED * signal.of),
                hits=signal.hits,
                of=signal.of,
                silent_hits=signal.silent_hits,
                silent_others=signal.silent_others,
                examples=[shown] if signal.hits else [],
            )
        )

    def take(self, other: SignalTally) -> None:
        """Add the counts of `other`."""
        for name in ("jobs", "hit_jobs", "marked_jobs", "hits", "of", "silent_hits", "silent_others"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        first(self.examples, other.examples)


class Weak(msgspec.Struct, frozen=True):
    """One label on the agent's side of a job that failed: primary or not."""

    label: str
    wasted_steps: int
    wasted_seconds: float
    example: Example


def weaknesses(analysis: JobAnalysis) -> list[Weak]:
    """What the agent itself did in a job that failed, each label once. A job whose reward says nothing is not known to have failed."""
    verdict = analysis.verdict
    if verdict.fail_reason is None or verdict.reward_valid is False:
        return []
    found: dict[str, Weak] = {}
    if verdict.fault_side == "model":
        name = f"{verdict.fail_reason}/{verdict.sub_fail_reason or ''}"
        found[name] = _weak(name, analysis.job_id, verdict)
    for label in verdict.secondary:
        name = f"{label.fail_reason}/{label.sub_fail_reason}"
        if label.fault_side == "model" and name not in found:
            found[name] = _weak(name, analysis.job_id, label)
    return list(found.values())


def _weak(name: str, job_id: str, said: Verdict | Label) -> Weak:
    evidence = said.evidence[0] if said.evidence else None
    example = Example(job_id=job_id, step_id=evidence.step_id if evidence is not None else None, evidence=evidence)
    return Weak(name, said.wasted_steps, said.wasted_seconds or 0.0, example)


def label_of(analysis: JobAnalysis) -> str | None:
    """`reason/sub` of a verdict, None where there is no reason."""
    verdict = analysis.verdict
    return None if verdict.fail_reason is None else f"{verdict.fail_reason}/{verdict.sub_fail_reason or ''}"


def _digest(tests: VerifierReport) -> str:
    said = f"{tests.passed}\0{tests.failed}\0{tests.total}\0" + "\0".join(sorted(tests.failed_names))
    return blake2b(said.encode("utf-8", "replace"), digest_size=8).hexdigest()
