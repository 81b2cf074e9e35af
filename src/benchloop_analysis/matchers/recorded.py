"""Matchers of what was recorded beside the run: the job's facts, the logs of verifier and harness."""

from __future__ import annotations

from typing import Literal

from benchloop_analysis import evidence
from benchloop_analysis.case import Case
from benchloop_analysis.literals import matches
from benchloop_analysis.matchers.registry import Finding, NoParams, Params, matcher, one_of
from benchloop_analysis.records import Evidence, File
from benchloop_client.contract.resources import TRAJECTORY_PROBLEM


class FactParams(Params, frozen=True, kw_only=True):
    """`error_types`: names of exceptions; `statuses`: of the job; `patterns`: over its error message. One that fits is enough."""

    error_types: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


@matcher("fact", FactParams)
def fact(case: Case, rule_id: str, params: FactParams) -> Finding | None:
    """The recorded error or status of the job is one of those named."""
    facts = case.facts
    message = facts.error_message or ""
    pattern, unless = one_of(params.patterns), one_of(params.unless)
    if unless is not None and unless.search(message):
        return None
    found: list[Evidence] = []
    if facts.error_type in params.error_types or (pattern is not None and pattern.search(message)):
        found += [evidence.of_fact(rule_id, facts, name) for name in ("error_type", "error_message") if getattr(facts, name)]
    elif facts.status in params.statuses:
        found.append(evidence.of_fact(rule_id, facts, "status"))
    if not found:
        return None
    return Finding(evidence=tuple(found), values={"error": facts.error_type or facts.status})


class OtherErrorParams(Params, frozen=True, kw_only=True):
    """`sides_known`: names of exceptions that other rules explain."""

    known: frozenset[str] = frozenset()


@matcher("other_error", OtherErrorParams)
def other_error(case: Case, rule_id: str, params: OtherErrorParams) -> Finding | None:
    """The job has an exception, no reward, and no other rule knows the exception."""
    facts = case.facts
    if facts.error_type is None or facts.reward is not None or facts.error_type in params.known:
        return None
    found = [evidence.of_fact(rule_id, facts, name) for name in ("error_type", "error_message") if getattr(facts, name)]
    return Finding(evidence=tuple(found), values={"error": facts.error_type})


class TextParams(Params, frozen=True, kw_only=True):
    """`files`: over paths in the archive; `patterns` over their lines; no match where one of `unless` stands in the file.

    `cite`: the first place, the last one, or both.
    """

    files: str
    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()
    cite: Literal["first", "last", "both"] = "first"


@matcher("text", TextParams)
def text(case: Case, rule_id: str, params: TextParams) -> Finding | None:
    """A line of a log reads like one of the patterns."""
    paths, pattern, unless = one_of((params.files,)), one_of(params.patterns), one_of(params.unless)
    assert paths is not None
    assert pattern is not None
    for file in case.files(paths):
        searched = case.searchable(file)
        places = [searched.place(match.start()) for match in matches(pattern, searched.short, searched.lower)]
        if places and (unless is None or not any(matches(unless, searched.short, searched.lower))):
            return Finding(evidence=tuple(_cited(rule_id, file, places, params.cite)), values={"file": file.path})
    return None


def _cited(rule_id: str, file: File, places: list[int], which: str) -> list[Evidence]:
    chosen = {"first": places[:1], "last": places[-1:], "both": [places[-1], places[0]]}[which]
    found = [evidence.of_file(rule_id, file, place) for place in chosen]
    return found[:1] if len(found) == 2 and found[0] == found[1] else found


@matcher("trajectory_problem", NoParams)
def trajectory_problem(case: Case, rule_id: str, params: NoParams) -> Finding | None:
    """The reader of the run noted that there is a trajectory which it could not read, and left it out."""
    if case.job.document is not None or not case.facts.meta.get(TRAJECTORY_PROBLEM):
        return None
    return Finding(evidence=(evidence.of_fact(rule_id, case.facts, f"meta.{TRAJECTORY_PROBLEM}"),))


@matcher("reward_missing", NoParams)
def reward_missing(case: Case, rule_id: str, params: NoParams) -> Finding | None:
    """The verifier is recorded to have run to its end, and there is no reward."""
    facts = case.facts
    phase = facts.phases.get("verifier")
    if facts.reward is not None or facts.error_type is not None or phase is None or phase.finished_at is None:
        return None
    return Finding(evidence=(evidence.of_fact(rule_id, facts, "reward"), evidence.of_fact(rule_id, facts, "phases")))


@matcher("reward_conflict", NoParams)
def reward_conflict(case: Case, rule_id: str, params: NoParams) -> Finding | None:
    """Every test passed and the reward is 0, or none passed and the reward is full."""
    report, facts = case.report, case.facts
    if report is None or report.evidence is None or facts.reward is None:
        return None
    all_passed = report.failed == 0 and report.passed == report.total and facts.reward <= 0
    none_passed = report.passed == 0 and report.failed > 0 and facts.reward >= 1
    if not (all_passed or none_passed):
        return None
    values = {"passed": str(report.passed), "total": str(report.total), "reward": f"{facts.reward:g}"}
    return Finding(evidence=(renamed(report.evidence, rule_id), evidence.of_fact(rule_id, facts, "reward")), values=values)


def renamed(found: Evidence, rule_id: str) -> Evidence:
    """The same evidence under the name of another rule."""
    return Evidence(rule_id=rule_id, source=found.source, field=found.field, quote=found.quote, step_id=found.step_id, start=found.start)


class TestsParams(Params, frozen=True, kw_only=True):
    """Share of the tests that passed: from `at_least`, below `below`; `but_one`: all but one will do as well."""

    at_least: float = 0.0
    below: float = 1.0
    but_one: bool = False


@matcher("tests", TestsParams)
def tests(case: Case, rule_id: str, params: TestsParams) -> Finding | None:
    """The verifier's report says which share of the tests passed."""
    report = case.report
    if report is None or report.failed == 0 or report.evidence is None:
        return None
    share = report.passed / report.total
    one_left = report.failed == 1 and report.passed >= 2
    if params.but_one != one_left and not (params.but_one and params.at_least <= share < params.below):
        return None
    if not params.but_one and not params.at_least <= share < params.below:
        return None
    found = [renamed(report.evidence, rule_id), *_failing(case, rule_id, report.failed_names[:2])]
    last = case.changes[-1] if case.changes else None
    if last is not None:
        found.append(evidence.of_call(rule_id, last))
    names = ", ".join(name.rpartition("::")[2] for name in report.failed_names[:3])
    return Finding(evidence=tuple(found), values={"passed": str(report.passed), "total": str(report.total), "names": names or "not named"})


def _failing(case: Case, rule_id: str, names: tuple[str, ...]) -> list[Evidence]:
    """Where the verifier's files name the failing tests: the printed line, else the report's own entry."""
    found = []
    for name in names:
        short = name.rpartition("::")[2]
        for file in sorted(case.job.files, key=lambda file: file.path.endswith(".json")):
            at = file.text.find(f"{short}") if "verifier/" in f"/{file.path}" else -1
            if at >= 0:
                found.append(evidence.of_file(rule_id, file, at))
                break
    return found


class RewardParams(Params, frozen=True, kw_only=True):
    """`at_most`: the highest reward that counts; `above`: rewards above this one."""

    at_most: float = 0.0
    above: float | None = None


@matcher("reward", RewardParams)
def reward(case: Case, rule_id: str, params: RewardParams) -> Finding | None:
    """The reward was recorded and is low, and nothing says more."""
    value = case.facts.reward
    if value is None or value > params.at_most or (params.above is not None and value <= params.above):
        return None
    found = [evidence.of_fact(rule_id, case.facts, "reward")]
    if case.last_agent is not None:
        found.append(evidence.of_step(rule_id, case.last_agent))
    return Finding(evidence=tuple(found), values={"reward": f"{value:g}"})
