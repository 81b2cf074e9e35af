"""One job judged: every rule looks, the first reason with evidence is the job's, and whether the reward means anything is decided apart."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from benchloop_analysis import ruleset, signals
from benchloop_analysis.case import Case
from benchloop_analysis.matchers.recorded import renamed
from benchloop_analysis.matchers.registry import CONDITIONS, MATCHERS, Finding
from benchloop_analysis.records import UNKNOWN, Evidence, JobAnalysis, JobInput, Label, Verdict
from benchloop_analysis.ruleset import Bound, RuleSet
from benchloop_analysis.tables import Tables
from benchloop_client.contract.outcome import outcome

_EVIDENCE = 6
#: A run of fewer steps says nothing about itself.
_SHORT = 3


def analyse(job: JobInput, rules: RuleSet | None = None, tables: Tables | None = None) -> JobAnalysis:
    """All that can be said about one job. Never raises for what stands in a trajectory or a file: those are data."""
    return analyse_case(Case(job, tables), rules)


def analyse_case(case: Case, rules: RuleSet | None = None) -> JobAnalysis:
    """As `analyse`, for a job of which more is asked than its verdict: what was worked out is not worked out again."""
    rules = rules or ruleset.default()
    return JobAnalysis(
        job_id=case.job.job_id,
        verdict=judge(case, rules),
        tests=case.report,
        signatures=signals.signatures(case),
        signals=signals.signals(case, rules.signals),
        trajectory=case.trajectory if case.job.document is not None else None,
    )


def judge(case: Case, rules: RuleSet) -> Verdict:
    """The verdict on a job. A job that passed with a valid reward, runs still, or was never graded has no reason."""
    if not case.ended:
        return _without_reason(case, rules, None, "The job has not ended.")
    fired = _doubted([(bound, label) for bound in rules.rules if (label := _label(case, bound)) is not None])
    spoilt = [label for bound, label in fired if bound.rule.reward == "invalid"]
    valid = _reward_valid(case, spoilt)
    facts = case.facts
    result = outcome(status=facts.status, reward=facts.reward, reward_valid=valid, error_type=facts.error_type)
    # Where the grading did not work, nothing says that the solution is wrong.
    causes = [label for bound, label in fired if bound.rule.role == "primary" and not (spoilt and label.fail_reason == "wrong_solution")]
    beside = [label for bound, label in fired if bound.rule.role == "secondary"]
    overlay = tuple(label for bound, label in fired if bound.rule.role == "integrity")
    # A job that was never graded fails only by a recorded fault of something around it.
    counted = causes if spoilt or result in ("failed", "partial", "errored") else [label for label in causes if label.tier == "A"]
    verdict = _verdict(case, rules, result, counted)
    doubt = _doubts(fired).get(verdict.fail_reason or "")
    others = [label for label in causes if label.rule_id not in {one.rule_id for one in verdict.evidence}]
    # What is left over says nothing beside a reason.
    secondary = [*_around(beside), *(label for label in others if label.tier != "D" or verdict.tier == "D"), *beside]
    return msgspec.structs.replace(
        verdict,
        says=verdict.says if doubt is None else f"{verdict.says} {doubt.says}",
        reward_valid=valid,
        reward_evidence=_reward_evidence(case, spoilt, valid),
        secondary=tuple({label.rule_id: label for label in secondary}.values()),
        integrity=overlay,
        first_signal_step=_first_signal((*causes, *beside)),
    )


def _doubted(fired: list[tuple[Bound, Label]]) -> list[tuple[Bound, Label]]:
    """The labels, those without a known side of which another one says that nobody can tell whose fault they are."""
    doubts = _doubts(fired)
    return [(bound, msgspec.structs.replace(one, fault_side="unknown") if one.fail_reason in doubts else one) for bound, one in fired]


def _doubts(fired: list[tuple[Bound, Label]]) -> dict[str, Label]:
    """Reason → the label that casts doubt on whose fault it is."""
    return {reason: label for bound, label in fired for reason in bound.rule.doubts}


def _around(beside: list[Label]) -> list[Label]:
    """What may lie around the agent is told before what the agent did."""
    return [label for label in beside if label.fault_side not in ("model", "unknown")]


def _verdict(case: Case, rules: RuleSet, result: str | None, counted: list[Label]) -> Verdict:
    if result == "passed" or (result == "ungraded" and not counted):
        says = "The job passed." if result == "passed" else "The job was not graded."
        return _without_reason(case, rules, result, says)
    if not counted:
        return _unknown(case, rules, result)
    first = counted[0]
    return Verdict(
        fail_reason=first.fail_reason,
        sub_fail_reason=first.sub_fail_reason,
        tier=first.tier,
        fault_side=first.fault_side,
        says=first.says,
        outcome=result,
        reward_valid=None,
        evidence=first.evidence,
        wasted_steps=first.wasted_steps,
        wasted_seconds=first.wasted_seconds,
        ruleset_version=rules.version,
    )


def _without_reason(case: Case, rules: RuleSet, result: str | None, says: str) -> Verdict:
    return Verdict(
        fail_reason=None,
        sub_fail_reason=None,
        tier=None,
        fault_side=None,
        says=says,
        outcome=result,
        reward_valid=case.facts.reward_valid,
        ruleset_version=rules.version,
    )


def _unknown(case: Case, rules: RuleSet, result: str | None) -> Verdict:
    short = case.job.document is not None and case.trajectory.n_steps < _SHORT
    return Verdict(
        fail_reason=UNKNOWN,
        sub_fail_reason="trajectory_too_short" if short else "no_evidence",
        tier="D",
        fault_side="unknown",
        says="The run is too short to say anything." if short else "Nothing that was recorded says why.",
        outcome=result,
        reward_valid=None,
        ruleset_version=rules.version,
    )


def _label(case: Case, bound: Bound) -> Label | None:
    """What a rule says about a job; nothing without evidence."""
    rule = bound.rule
    if not all(CONDITIONS[name](case) for name in rule.when):
        return None
    found = MATCHERS[rule.match].match(case, rule.id, bound.params)
    cited = _shown(found.evidence) if found is not None else ()
    if found is None or not cited:
        return None
    asked = case.trajectory.instruction_step
    steps = [one.step_id for one in cited if one.step_id is not None and one.step_id != asked]
    return Label(
        rule_id=rule.id,
        fail_reason=rule.reason,
        sub_fail_reason=rule.sub,
        tier=rule.tier,
        fault_side=found.fault_side or bound.fault_side,
        says=_sentence(rule.says, found),
        evidence=cited,
        first_step=min(steps, default=None),
        wasted_steps=found.wasted_steps,
        wasted_seconds=found.wasted_seconds,
    )


def _shown(found: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Evidence with words in it, each once."""
    return tuple(dict.fromkeys(one for one in found if one.quote))[:_EVIDENCE]


class _Values(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "…"


def _sentence(template: str, found: Finding) -> str:
    # Values come from trajectories; only names without dots or brackets are filled in, so they cannot reach into objects.
    return template.format_map(_Values(found.values))


def _reward_valid(case: Case, spoilt: list[Label]) -> bool | None:
    """False where a rule says so, else what the harness says, else True where tests ran or a grader left its reckoning."""
    if spoilt:
        return False
    if case.facts.reward_valid is not None:
        return case.facts.reward_valid
    if case.facts.reward is None:
        return None
    return True if case.report is not None or case.facts.meta.get("reward_info") is not None else None


def _reward_evidence(case: Case, spoilt: list[Label], valid: bool | None) -> tuple[Evidence, ...]:
    if spoilt:
        return spoilt[0].evidence
    if valid and case.report is not None and case.report.evidence is not None:
        return (renamed(case.report.evidence, "verifier-report"),)
    return ()


def _first_signal(labels: tuple[Label, ...]) -> int | None:
    """The first step that any rule about the run itself cites: the earliest sign that a reader can see."""
    return min((label.first_step for label in labels if label.first_step is not None and label.tier in ("A", "B")), default=None)
