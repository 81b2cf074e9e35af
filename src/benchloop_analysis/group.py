"""The report of a group, folded from its jobs one after another: the memory depends on tasks and kinds of errors, not on trajectories.

    fold = GroupFold(GroupFacts(group_id="G1", expected=62))
    for analysis, facts in jobs:
        fold.add(analysis, facts)
    report = fold.report()

Folds of pieces of a group can be stored (`state`), read again (`of`) and joined (`take`), in any grouping; taken in order they give the
same report as one fold over all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import msgspec

from benchloop_analysis import group_findings, ruleset, words
from benchloop_analysis.group_records import GroupFacts, GroupReport, JudgeSummary, Reason, Rewards, Row, Rows, SubReason
from benchloop_analysis.group_signals import add_signals, found_signals
from benchloop_analysis.group_tally import (
    Attempts,
    LabelTally,
    Outcomes,
    Part,
    SignalTally,
    add_to,
    bounded_key,
    count_in,
    label_of,
    weaknesses,
)
from benchloop_analysis.intervals import BOOTSTRAP, WILSON, PassAtK, Rate, pass_rates
from benchloop_analysis.judge import JUDGED, Opinion
from benchloop_analysis.judge_totals import JudgeTotals
from benchloop_analysis.records import UNKNOWN, Facts, JobAnalysis
from benchloop_analysis.signatures import SignatureTable

#: Above this share of unknown reasons the report says that the rules do not fit the group.
UNKNOWN_NOTICE = 0.15
#: Rows of a table, error signatures and notes on tasks in a report, so that it stays below a megabyte whatever the group; each list says
#: how many there are in all.
ROWS, SIGNATURE_ROWS, NOTES = 500, 100, 50
_REASONS_IN_A_ROW = 5
_SEPARATOR = "\0"
_NO_KEY = "(not recorded)"


class _State(msgspec.Struct):
    """Everything that is counted."""

    total: Part = msgspec.field(default_factory=Part)
    analysed: int = 0
    tasks: dict[str, Attempts] = {}
    agents: dict[str, Part] = {}
    models: dict[str, Part] = {}
    steps: dict[str, Part] = {}
    labels: dict[str, LabelTally] = {}
    weak: dict[str, LabelTally] = {}
    signals: dict[str, SignalTally] = {}
    signatures: SignatureTable = msgspec.field(default_factory=SignatureTable)
    versions: dict[str, int] = {}
    opinions: JudgeTotals = msgspec.field(default_factory=JudgeTotals)


class GroupFold:
    """Counts the jobs of a group. Not safe between threads."""

    def __init__(self, group: GroupFacts) -> None:
        self.group = group
        self._state = _State()

    @classmethod
    def of(cls, group: GroupFacts, state: bytes) -> GroupFold:
        """The fold whose `state` was stored. Raises `msgspec.DecodeError` for what is no such state."""
        fold = cls(group)
        fold._state = msgspec.msgpack.decode(state, type=_State)
        return fold

    def state(self) -> bytes:
        """All counters as bytes; only meant for the same version of this package."""
        return msgspec.msgpack.encode(self._state)

    def add(self, analysis: JobAnalysis, facts: Facts) -> None:
        """Count one job. A job that was not analysed yet is counted by `add_unanalysed`."""
        state = self._state
        state.total.add(analysis, facts)
        state.analysed += 1
        self._add_parts(analysis, facts)
        label = label_of(analysis)
        if label is not None:
            state.labels.setdefault(label, LabelTally()).add(analysis)
        for weak in weaknesses(analysis):
            state.weak.setdefault(weak.label, LabelTally()).see(weak)
        count_in(state.versions, analysis.verdict.ruleset_version)
        state.signatures.add(analysis, facts)
        add_signals(state.signals, analysis)

    def add_opinion(self, made: Opinion | None, *, paid: float) -> None:
        """Count a judge's opinion on a job; None: one was wanted, and there was no budget left. `paid`: US dollars."""
        self._state.opinions.add(made, paid=paid)

    def add_cost(self, usd: float) -> None:
        """Count what a judge cost where the opinions do not say."""
        self._state.opinions.cost_usd += usd

    def _add_parts(self, analysis: JobAnalysis, facts: Facts) -> None:
        state = self._state
        attempts = state.tasks.setdefault(
            f"{facts.task_id}{_SEPARATOR}{'' if facts.step is None else facts.step}", Attempts(task_id=facts.task_id, step=facts.step)
        )
        attempts.add(analysis, facts)
        for table, key in ((state.agents, facts.agent), (state.models, facts.model), (state.steps, facts.step)):
            name = bounded_key(table, _NO_KEY if key is None else str(key))
            table.setdefault(name, Part()).add(analysis, facts)

    def take(self, other: GroupFold) -> None:
        """Add the counts of `other`, which is used up by it."""
        mine, others = self._state, other._state
        mine.total.take(others.total)
        mine.analysed += others.analysed
        add_to(mine.tasks, others.tasks)
        add_to(mine.agents, others.agents)
        add_to(mine.models, others.models)
        add_to(mine.steps, others.steps)
        add_to(mine.labels, others.labels)
        add_to(mine.weak, others.weak)
        add_to(mine.signals, others.signals)
        mine.signatures.take(others.signatures)
        mine.opinions.take(others.opinions)
        for version, count in others.versions.items():
            count_in(mine.versions, version, count)

    @property
    def n_tasks(self) -> int:
        """Tasks with at least one attempt, counted once for each training step."""
        return len(self._state.tasks)

    def lost_tasks(self) -> dict[str, tuple[int, int]]:
        """For each label on the agent's side: tasks with a failed attempt that shows it, and those of them that no valid attempt passed."""
        found: dict[str, tuple[int, int]] = {}
        for attempts in self._state.tasks.values():
            for label in attempts.weak:
                tasks, never = found.get(label, (0, 0))
                found[label] = tasks + 1, never + (attempts.outcomes.passed_valid == 0)
        return found

    def weakness(self, label: str) -> LabelTally:
        """The jobs that show a label on the agent's side."""
        return self._state.weak[label]

    def report(self, *, present: int | None = None, rows: int = ROWS, seed: int = 0) -> GroupReport:
        """The report. `present` is how many jobs there are, where not all of them were added; `rows` limits each table."""
        state = self._state
        outcomes = state.total.outcomes
        failed = sum(tally.jobs for tally in state.labels.values())
        unknown = sum(tally.jobs for label, tally in state.labels.items() if label.partition("/")[0] == UNKNOWN)
        signatures = state.signatures.ranked(SIGNATURE_ROWS)
        notes, n_notes = group_findings.task_notes(state.tasks.values(), NOTES)
        notices = tuple(self._notices(Rate.of_counts(unknown, failed), outcomes.jobs if present is None else present))
        return GroupReport(
            group_id=self.group.group_id,
            name=self.group.name,
            benchmark=self.group.benchmark,
            headline=headline(_rewards(outcomes)),
            notices=notices,
            expected=self.group.expected,
            present=outcomes.jobs if present is None else present,
            running=outcomes.running,
            analysed=state.analysed,
            rewards=_rewards(outcomes),
            pass_at_k=self._pass_at_k(seed),
            failed=failed,
            unknown=Rate.of_counts(unknown, failed),
            reasons=_reasons(state.labels, failed),
            by_task=_rows(_by_task(state.tasks.values()), rows),
            by_agent=_rows(state.agents, rows),
            by_model=_rows(state.models, rows),
            by_step=_rows(state.steps, rows),
            findings=(
                *group_findings.same_fault(state.labels, failed),
                *found_signals(state.signals, outcomes.ended, signal_words()),
                *group_findings.same_error(signatures.rows, outcomes.jobs),
            ),
            task_notes=notes,
            task_notes_total=n_notes,
            signatures=signatures,
            wasted_steps=sum(tally.wasted_steps for tally in state.labels.values()),
            wasted_seconds=sum(tally.wasted_seconds for tally in state.labels.values()),
            method=f"shares: {WILSON}; pass@k: unbiased estimate over tasks, {BOOTSTRAP}, seed {seed}",
            ruleset_versions=dict(sorted(state.versions.items())),
            judge=_judge(state.opinions),
        )

    def _pass_at_k(self, seed: int) -> tuple[PassAtK, ...]:
        tasks = (attempts.outcomes for attempts in self._state.tasks.values())
        return pass_rates(((each.valid, each.passed_valid) for each in tasks), seed=seed)

    def _notices(self, unknown: Rate, present: int) -> Iterator[str]:
        expected = self.group.expected
        if expected is not None and present < expected:
            yield f"{words.counted(expected - present, 'job')} of the {expected:,} that the run planned are not there."
        if self._state.analysed < present:
            yield f"{words.counted(present - self._state.analysed, 'job')} of {present:,} are not analysed yet and are not counted here."
        if self._state.total.outcomes.running:
            yield f"{words.counted(self._state.total.outcomes.running, 'job')} have not ended."
        if unknown.value is not None and unknown.value > UNKNOWN_NOTICE:
            yield (
                f"For {words.percent(unknown.value)} of the failed jobs nothing says why; above {100 * UNKNOWN_NOTICE:.0f} % "
                "the rules do not fit this benchmark: add rules of your own with --rules."
            )
        if len({version.partition(JUDGED)[0] for version in self._state.versions}) > 1:
            yield (
                "The jobs were judged by different versions of the rules; `bl report trigger --include-passed` has all of them judged anew."
            )


@cache
def signal_words() -> dict[str, str]:
    """What the built-in rules say about each signal."""
    return {signal.name: signal.says for signal in ruleset.default().signals}


def headline(rewards: Rewards) -> str:
    """The pass rate both ways, such as `4 of 62 passed; 4 of 43 whose reward is valid`."""
    recorded, valid = rewards.passed, rewards.passed_valid
    return f"{recorded.count:,} of {recorded.of:,} passed; {valid.count:,} of {valid.of:,} whose reward is valid"


def _judge(totals: JudgeTotals) -> JudgeSummary | None:
    """What a model's opinions amounted to; None where none was wanted."""
    if not totals.wanted:
        return None
    return JudgeSummary(
        models=dict(sorted(totals.models.items())),
        wanted=totals.wanted,
        decided=Rate.of_counts(totals.refined + totals.agreed, totals.wanted),
        refined=totals.refined,
        agreed=totals.agreed,
        abstained=totals.abstained,
        refused=totals.refused,
        not_asked=totals.skipped,
        cost_usd=totals.cost_usd,
    )


def _rewards(outcomes: Outcomes) -> Rewards:
    return Rewards(
        ended=outcomes.ended,
        valid=outcomes.valid,
        invalid=outcomes.invalid,
        missing=outcomes.missing,
        passed=Rate.of_counts(outcomes.passed, outcomes.ended),
        passed_valid=Rate.of_counts(outcomes.passed_valid, outcomes.valid),
        mean_reward=outcomes.reward_sum / outcomes.rewarded if outcomes.rewarded else None,
        mean_reward_valid=outcomes.valid_sum / outcomes.valid if outcomes.valid else None,
    )


def _reasons(labels: Mapping[str, LabelTally], failed: int) -> tuple[Reason, ...]:
    """Two levels, the most frequent first."""
    by_reason: dict[str, list[tuple[str, LabelTally]]] = {}
    for label, tally in labels.items():
        name, _, sub = label.partition("/")
        by_reason.setdefault(name, []).append((sub, tally))
    found = [_reason(name, subs, failed) for name, subs in by_reason.items()]
    return tuple(sorted(found, key=lambda reason: (-reason.share.count, reason.fail_reason)))


def _reason(name: str, subs: list[tuple[str, LabelTally]], failed: int) -> Reason:
    sides: dict[str, int] = {}
    for _, tally in subs:
        for side, count in tally.sides.items():
            count_in(sides, side, count)
    ranked = sorted(subs, key=lambda sub: (-sub[1].jobs, sub[0]))
    return Reason(
        fail_reason=name,
        share=Rate.of_counts(sum(tally.jobs for _, tally in subs), failed),
        fault_sides=sides,
        wasted_steps=sum(tally.wasted_steps for _, tally in subs),
        wasted_seconds=sum(tally.wasted_seconds for _, tally in subs),
        subs=tuple(_sub(sub, tally, failed) for sub, tally in ranked),
    )


def _sub(name: str, tally: LabelTally, failed: int) -> SubReason:
    return SubReason(
        sub_fail_reason=name,
        share=Rate.of_counts(tally.jobs, failed),
        tiers=dict(sorted(tally.tiers.items())),
        wasted_seconds=tally.wasted_seconds,
        examples=tuple(tally.examples),
    )


def _by_task(tasks: Iterable[Attempts]) -> dict[str, Part]:
    """The attempts at each task in all steps together."""
    found: dict[str, Part] = {}
    for attempts in tasks:
        found.setdefault(attempts.task_id, Part()).take(attempts)
    return found


def _rows(parts: Mapping[str, Part], most: int) -> Rows:
    ranked = sorted(parts.items(), key=lambda item: (item[1].outcomes.passed - item[1].outcomes.ended, item[0]))
    return Rows(total=len(ranked), left_out=max(0, len(ranked) - most), rows=tuple(_row(key, part) for key, part in ranked[:most]))


def _row(key: str, part: Part) -> Row:
    labels = sorted(part.labels.items(), key=lambda item: (-item[1], item[0]))[:_REASONS_IN_A_ROW]
    return Row(key=key, jobs=part.outcomes.jobs, rewards=_rewards(part.outcomes), reasons=dict(labels))
