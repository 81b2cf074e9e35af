"""Matchers of what was asked: files that are not there, rules that were broken, actions that were to be taken."""

from __future__ import annotations

from typing import Literal

import msgspec

from benchloop_analysis import evidence
from benchloop_analysis.case import Case
from benchloop_analysis.expected import Difference, Wanted
from benchloop_analysis.literals import matches
from benchloop_analysis.matchers.registry import Finding, NoParams, Params, matcher, one_of
from benchloop_analysis.matchers.told import unsourced
from benchloop_analysis.records import Event, Evidence, Kind

#: Of arguments that differ, so many are told, and so much of each.
_DIFFERING, _SHORT = 3, 40


class MissingParams(Params, frozen=True, kw_only=True):
    """`files`: logs of the verifier; `patterns` over a line that says that a file is missing; a group of theirs is the file."""

    files: str
    patterns: tuple[str, ...]


@matcher("named_path_missing", MissingParams)
def named_path_missing(case: Case, rule_id: str, params: MissingParams) -> Finding | None:
    """The verifier says that a file is missing which the task's text names."""
    paths, pattern = one_of((params.files,)), one_of(params.patterns)
    assert paths is not None
    assert pattern is not None
    for file in case.files(paths) if case.named_paths else ():
        searched = case.searchable(file)
        for match in matches(pattern, searched.short, searched.lower):
            group = next((place for place, value in enumerate(match.groups(), 1) if value), None)
            named = next((path for path in case.named_paths if _same_path(match.group(group), path)), None) if group else None
            if group is not None and named is not None:
                found = [evidence.of_file(rule_id, file, searched.place(match.start(group))), *_where_named(case, rule_id, named)]
                return Finding(evidence=tuple(found), values={"path": named})
    return None


def _same_path(found: str, named: str) -> bool:
    """Whether the tests' path is the task's: equal, or one ends in the other."""
    one, other = found.strip("./"), named.strip("./")
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _where_named(case: Case, rule_id: str, named: str) -> list[Evidence]:
    step = next((event for event in case.events if event.source == "user"), None)
    return [evidence.of_text(rule_id, step, step.text.index(named))] if step is not None and named in step.text else []


class ConstraintParams(Params, frozen=True, kw_only=True):
    """`patterns`: how the task forbids changing a file; group 1 is the file."""

    patterns: tuple[str, ...]


@matcher("forbidden_change", ConstraintParams)
def forbidden_change(case: Case, rule_id: str, params: ConstraintParams) -> Finding | None:
    """The task's text says that a file must not be changed, and the agent changed it."""
    asked = next((event for event in case.events if event.source == "user"), None)
    pattern = one_of(params.patterns)
    assert pattern is not None
    if asked is None:
        return None
    for match in pattern.finditer(asked.text[:20_000]):
        name = next(filter(None, match.groups()), "").strip("`'\"., ")
        change = next((event for event in case.changes if name and _same_file(event, name)), None)
        if change is not None:
            return Finding(
                evidence=(evidence.of_text(rule_id, asked, match.start()), evidence.of_call(rule_id, change)), values={"file": name}
            )
    return None


def _same_file(event: Event, name: str) -> bool:
    return any(path == name or path.endswith(f"/{name.lstrip('./')}") for path in event.writes)


@matcher("no_named_path_touched", NoParams)
def no_named_path_touched(case: Case, rule_id: str, params: NoParams) -> Finding | None:
    """The agent changed files, and neither read nor changed any file that the task's text names."""
    named = {path.rpartition("/")[2] for path in case.named_paths}
    if not named or not case.changes:
        return None
    for event in case.calls:
        text = f"{event.command or ''} {' '.join(event.paths)} {' '.join(event.writes)}"
        if any(name in text for name in named):
            return None
    asked = next(event for event in case.events if event.source == "user")
    first = case.changes[0]
    found = (evidence.of_text(rule_id, asked, asked.text.index(case.named_paths[0])), evidence.of_call(rule_id, first))
    return Finding(evidence=found, values={"path": case.named_paths[0]})


class InstructionFileParams(Params, frozen=True, kw_only=True):
    """`patterns`: how the task tells to read a file; group 1 is the file."""

    patterns: tuple[str, ...]


@matcher("unread_instructions", InstructionFileParams)
def unread_instructions(case: Case, rule_id: str, params: InstructionFileParams) -> Finding | None:
    """The task's text says to read a file, and no call names that file."""
    asked = next((event for event in case.events if event.source == "user"), None)
    pattern = one_of(params.patterns)
    assert pattern is not None
    match = pattern.search(asked.text[:20_000]) if asked is not None and case.calls else None
    if asked is None or match is None:
        return None
    name = next(filter(None, match.groups()), "").rpartition("/")[2].strip("`'\"., ")
    if not name or any(name in str(event.command or event.arguments) for event in case.calls):
        return None
    return Finding(evidence=(evidence.of_text(rule_id, asked, match.start()),), values={"file": name})


class ConfirmParams(Params, frozen=True, kw_only=True):
    """`patterns`: how the system's text demands a confirmation; `confirmations`: words of the user; `kinds` of calls that need it."""

    patterns: tuple[str, ...]
    confirmations: tuple[str, ...]
    kinds: frozenset[Kind] = frozenset({"write", "delete"})


@matcher("unconfirmed_change", ConfirmParams)
def unconfirmed_change(case: Case, rule_id: str, params: ConfirmParams) -> Finding | None:
    """The policy demands the user's confirmation before a change, and a change was made before the user confirmed anything."""
    rule = next((event for event in case.events if event.source == "system"), None)
    pattern, yes = one_of(params.patterns), one_of(params.confirmations)
    assert pattern is not None
    assert yes is not None
    demand = pattern.search(rule.text) if rule is not None else None
    if rule is None or demand is None:
        return None
    confirmed = False
    for event in case.events:
        if event.source == "user":
            confirmed = confirmed or yes.search(event.text) is not None
        elif event.kind in params.kinds and event.tool is not None and not event.is_error and not confirmed:
            return Finding(evidence=(evidence.of_call(rule_id, event), evidence.of_text(rule_id, rule, demand.start())))
    return None


class ActionParams(Params, frozen=True, kw_only=True):
    """`shape`: how what was done differs from what was asked for."""

    shape: Literal["partial", "unintended", "wrong_argument", "wrong_tool", "no_write", "output_only"]


@matcher("actions", ActionParams)
def actions(case: Case, rule_id: str, params: ActionParams) -> Finding | None:
    """The changes that the agent made differ in this way from those that the task's data asks for."""
    found = case.difference
    if found is None or shape_of(found) != params.shape:
        return None
    cited = [evidence.of_call(rule_id, event) for event in _cited(found, params.shape)]
    told = unsourced(case) if params.shape == "output_only" else None
    cited += [evidence.of_text(rule_id, told[0], told[1].start())] if told is not None else []
    names = {event.tool for event in found.extra}
    cited += [_wanted(rule_id, action) for action in sorted(found.missing, key=lambda action: action.name not in names)[:2]]
    spoken = next((event for event in reversed(case.agent_events) if event.text.strip()), None)
    if not cited or params.shape == "output_only":
        cited += [evidence.of_text(rule_id, spoken)] if spoken is not None else []
        cited.append(evidence.of_fact(rule_id, case.facts, "reward"))
    values = {
        "asked": ", ".join(dict.fromkeys(action.name for action in found.missing)),
        "did": ", ".join(dict.fromkeys(event.tool or "" for event in found.extra)),
        "differs": _differs(found),
    }
    return Finding(evidence=tuple(cited), values=values)


def _cited(found: Difference, shape: str) -> tuple[Event, ...]:
    """The first call that leads away from what was asked for, and the first change that did so and succeeded."""
    if shape == "output_only":
        return ()
    return tuple({event.position: event for event in (*found.astray[:1], *found.extra[:2])}.values())


def _differs(found: Difference) -> str:
    """The arguments of the first change that was asked for otherwise, as they were and as they were asked for; empty without one."""
    pairs = ((event, action) for event in found.extra for action in found.missing if event.tool == action.name)
    event, action = next(pairs, (None, None))
    if event is None or action is None:
        return ""
    names = [name for name in {**action.arguments, **event.arguments} if action.arguments.get(name) != event.arguments.get(name)]
    both = [(name, event.arguments.get(name), action.arguments.get(name)) for name in names]
    plain = [(name, one, other) for name, one, other in both if _is_short(one) and _is_short(other)]
    said = [f"{name} {_short(one)}, asked for {_short(other)}" for name, one, other in plain[:_DIFFERING]]
    told = [*said, f"{len(names) - len(said)} {'more' if said else 'of them'}"] if len(names) > len(said) else said
    return f": {'; '.join(told)}" if told else ""


def _is_short(value: object) -> bool:
    """Whether a reader sees at once what differs: no list, no table."""
    return not isinstance(value, dict | list)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else "nothing" if value is None else msgspec.json.encode(value).decode("utf-8", "replace")
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def shape_of(found: Difference) -> str:
    """How done and asked differ. `wrong_argument` wherever one action was done with other arguments, whatever else differs."""
    if not found.missing and not found.extra:
        return "output_only"
    if found.missing and not found.done:
        return "no_write"
    if not found.extra:
        return "partial"
    if not found.missing:
        return "unintended"
    same = {action.name for action in found.missing} & {event.tool for event in found.extra}
    return "wrong_argument" if same else "wrong_tool"


def _wanted(rule_id: str, action: Wanted) -> Evidence:
    return evidence.of_file(rule_id, action.file, action.start, end=action.end)
