"""Matchers of calls that failed: whether the agent recovered, and what it did about it."""

from __future__ import annotations

import re

from benchloop_analysis import evidence
from benchloop_analysis.case import Case
from benchloop_analysis.matchers.registry import Finding, Params, matcher, one_of
from benchloop_analysis.records import Event, Kind


class ErrorParams(Params, frozen=True, kw_only=True):
    """Which failing calls count, and from how many on.

    `classes`: of errors; `exit_codes`: with one of these; `kinds`: only of these calls; `patterns`: over the output; `named_in_task`: only
    where the output names a path of the task's text. `at_end`: among the last `last` calls, or costly (at least half of the time).
    """

    classes: frozenset[str] = frozenset()
    exit_codes: frozenset[int] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    patterns: tuple[str, ...] = ()
    at_least: int = 1
    last: int = 3
    named_in_task: bool = False
    same_kind_recovers: bool = False


@matcher("unrecovered", ErrorParams)
def unrecovered(case: Case, rule_id: str, params: ErrorParams) -> Finding | None:
    """Calls failed in one way, none of the same sort succeeded later, and it was at the end of the run or cost half of its time."""
    failed = [event for event in case.calls if _counts(case, event, params)]
    open_ones = [event for event in failed if not _recovered(case, event, params)]
    if len(open_ones) < params.at_least:
        return None
    spent = sum(event.seconds or 0.0 for event in open_ones)
    budget = case.agent_seconds
    late = open_ones[-1] in case.calls[-params.last :]
    if not late and not (budget and spent >= budget / 2):
        return None
    ends = [open_ones[0], open_ones[-1]] if len(open_ones) > 1 else open_ones
    return Finding(
        evidence=tuple(evidence.of_output(rule_id, event) for event in ends),
        values={"times": str(len(open_ones)), "tool": open_ones[0].tool or ""},
        wasted_steps=len({event.step_id for event in open_ones}),
        wasted_seconds=spent or None,
    )


def _counts(case: Case, event: Event, params: ErrorParams) -> bool:
    if not event.is_error or (params.kinds and event.kind not in params.kinds):
        return False
    if params.classes and event.error_class not in params.classes:
        return False
    if params.exit_codes and event.exit_code not in params.exit_codes:
        return False
    output = event.output or ""
    pattern = one_of(params.patterns)
    if pattern is not None and not pattern.search(output):
        return False
    return not params.named_in_task or any(path in output for path in case.named_paths)


def _recovered(case: Case, event: Event, params: ErrorParams) -> bool:
    if case.later_success(event) is not None:
        return True
    if not params.same_kind_recovers:
        return False
    return any(later.kind == event.kind and not later.is_error and later.position > event.position for later in case.calls)


class TailParams(Params, frozen=True, kw_only=True):
    """`classes` of errors; `at_least` that many calls at the end of the run."""

    classes: frozenset[str]
    at_least: int = 2


@matcher("tail_errors", TailParams)
def tail_errors(case: Case, rule_id: str, params: TailParams) -> Finding | None:
    """From some step on, every call failed in one of these ways."""
    tail: list[Event] = []
    for event in reversed(case.calls):
        if event.error_class not in params.classes:
            break
        tail.append(event)
    if len(tail) < params.at_least:
        return None
    first, last = tail[-1], tail[0]
    return Finding(
        evidence=(evidence.of_output(rule_id, first), evidence.of_output(rule_id, last)),
        values={"times": str(len(tail)), "step": str(first.step_id)},
        wasted_steps=len({event.step_id for event in tail}),
        wasted_seconds=sum(event.seconds or 0.0 for event in tail) or None,
    )


class RepeatedParams(Params, frozen=True, kw_only=True):
    """`classes` of errors, `except_classes` of none; `kinds` of calls; `at_least` that many without a success after them.

    `only_files`: only on a file, by a tool for files; else on a file or with a tool.
    """

    classes: frozenset[str] = frozenset()
    except_classes: frozenset[str] = frozenset({"user_declined"})
    kinds: frozenset[Kind] = frozenset()
    at_least: int = 3
    only_files: bool = False


@matcher("failing_target", RepeatedParams)
def failing_target(case: Case, rule_id: str, params: RepeatedParams) -> Finding | None:
    """The same file, or the same tool, failed again and again and never worked afterwards."""
    by_target: dict[str, list[Event]] = {}
    for event in case.calls:
        target = event.paths[0] if event.paths else f"tool {event.tool}"
        if (params.kinds and event.kind not in params.kinds) or (params.only_files and (event.command is not None or not event.paths)):
            continue
        if not event.is_error:
            by_target.pop(target, None)
        elif event.error_class not in params.except_classes and (not params.classes or event.error_class in params.classes):
            by_target.setdefault(target, []).append(event)
    worst = max(by_target.values(), key=len, default=[])
    if len(worst) < params.at_least:
        return None
    return Finding(
        evidence=tuple(evidence.of_output(rule_id, event) for event in (worst[0], worst[-1])),
        values={"times": str(len(worst)), "target": worst[0].paths[0] if worst[0].paths else worst[0].tool or ""},
        wasted_steps=len({event.step_id for event in worst}),
        wasted_seconds=sum(event.seconds or 0.0 for event in worst) or None,
    )


class IgnoredParams(Params, frozen=True, kw_only=True):
    """`within`: the next calls that are looked at; `kinds`: of the failing call; `share`: of the run's errors that were ignored."""

    within: int = 3
    kinds: frozenset[Kind] = frozenset()
    at_least: int = 2


@matcher("ignored_error", IgnoredParams)
def ignored_error(case: Case, rule_id: str, params: IgnoredParams) -> Finding | None:
    """A call failed, the next ones neither repeat it nor touch its target, and it never succeeded later."""
    found = [
        event
        for place, event in enumerate(case.calls)
        if event.is_error
        and event.error_class != "user_declined"
        and (not params.kinds or event.kind in params.kinds)
        and event.paths
        and len(case.calls) > place + params.within
        and not any(_about(event, later) for later in case.calls[place + 1 : place + 1 + params.within])
        and case.later_success(event) is None
    ]
    if len(found) < params.at_least:
        return None
    return Finding(evidence=tuple(evidence.of_output(rule_id, event) for event in found[:3]), values={"times": str(len(found))})


def _about(event: Event, later: Event) -> bool:
    names = {path.rpartition("/")[2] for path in event.paths}
    return later.key == event.key or bool(names & {path.rpartition("/")[2] for path in later.paths})


class HangParams(Params, frozen=True, kw_only=True):
    """`classes` of errors that a hanging call ends with; `seconds`: a call that took longer counts as well."""

    classes: frozenset[str] = frozenset({"timeout"})
    at_least: int = 1


@matcher("interactive_hang", HangParams)
def interactive_hang(case: Case, rule_id: str, params: HangParams) -> Finding | None:
    """A program that waits for somebody to type, or a server in the foreground, was started, and the call ran into its time limit."""
    found = [event for event in case.calls if event.is_error and event.error_class in params.classes and _waits(case, event)]
    if len(found) < params.at_least:
        return None
    return Finding(
        evidence=tuple(item for event in found[:2] for item in (evidence.of_call(rule_id, event), evidence.of_output(rule_id, event))),
        values={"program": found[0].commands[-1].program},
        wasted_steps=len(found),
        wasted_seconds=sum(event.seconds or 0.0 for event in found) or None,
    )


def _waits(case: Case, event: Event) -> bool:
    programs = case.tables.programs
    for command in event.commands:
        if command.background:
            continue
        bare = (
            not [word for word in command.words if not word.startswith("-")]
            and "-c" not in command.words
            and "<" not in (event.command or "")
        )
        if command.program in programs.interactive or (command.program in programs.interactive_bare and bare):
            return True
        if command.program in programs.servers or any(word in programs.servers for word in command.words):
            return True
    return False


class DamageParams(Params, frozen=True, kw_only=True):
    """`patterns`: over an output, for an error that names a file that was removed; `{name}` stands for the file."""

    classes: frozenset[str] = frozenset({"not_found"})


@matcher("self_inflicted_damage", DamageParams)
def self_inflicted_damage(case: Case, rule_id: str, params: DamageParams) -> Finding | None:
    """A file was removed by the agent, and a later error names it as missing; it was never written again."""
    removed: dict[str, Event] = {}
    for event in case.calls:
        if event.is_error:
            for name, cause in removed.items():
                if event.error_class in params.classes and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", event.output or ""):
                    found = (evidence.of_call(rule_id, cause), evidence.of_output(rule_id, event))
                    return Finding(evidence=found, values={"file": name})
            continue
        for path in event.writes:
            removed.pop(path.rpartition("/")[2], None)
        for command in event.commands:
            if command.program in ("rm", "unlink", "shred"):
                removed.update({path.rstrip("/").rpartition("/")[2]: event for path in command.writes if len(path) > 3 and "*" not in path})
    return None
