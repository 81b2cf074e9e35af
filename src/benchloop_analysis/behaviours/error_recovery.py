"""Behaviours after an error: whether the agent looks at its cause, does something else, and gets it solved."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from benchloop_analysis.behaviours.acts import Act
from benchloop_analysis.behaviours.naming import base
from benchloop_analysis.behaviours.view import Found, Run, View, binary, truth
from benchloop_analysis.records import Command

_LOOKS = frozenset({"read", "search", "list"})
_HEAD, _TAIL = 2_000, 4_000
_SOON = 5
_MOST = 200
_WORD = re.compile(r"\w{4,}")
_UNDO_GIT = frozenset({"checkout", "restore", "stash", "reset", "revert"})
_BACKUP = re.compile(r"(?:\.(?:bak|backup|orig|old|save)\d*|~)$")
_UNDO_TOOL = re.compile(r"undo|revert|rollback|restore", re.IGNORECASE)


def diagnoses_error(view: View) -> Found | None:
    """R1."""
    followed = [act for act in view.errors if act.call + 1 < len(view.calls)]
    if not followed or not view.on_files:
        return None
    looked = [act for act in followed if any(_is_about(later, act) for later in view.following(act, 1))]
    return truth(2 * len(looked) >= len(followed), looked or followed)


def _is_about(later: Act, error: Act) -> bool:
    """Whether a call looks at something that the error's output names."""
    if later.call < 0:
        return False
    output = error.event.output or ""
    text = output if len(output) <= _HEAD + _TAIL else output[:_HEAD] + output[-_TAIL:]
    return any(name in text for name in _subjects(later))


def _subjects(act: Act) -> Iterator[str]:
    """What a call looks for: names of files, and words of patterns."""
    yield from (base(path) for path in act.looked if len(base(path)) > 2)
    if act.event.kind in _LOOKS and not act.event.commands:
        for value in act.event.arguments.values():
            if isinstance(value, str) and len(value) < 200:
                yield from _WORD.findall(value)
    for command in act.event.commands:
        if command.kind == "list":
            yield from (base(path) for path in command.paths if len(base(path)) > 2)
        elif command.kind == "search":
            yield from (word for text in command.words[:3] if not text.startswith("-") for word in _WORD.findall(text[:200]))


def changes_approach(view: View) -> Found | None:
    """R2."""
    calls = view.calls
    again = [
        act
        for before, act in zip(view.errors, view.errors[1:], strict=False)
        if _kind_of(before) == _kind_of(act) and act.call + 1 < len(calls)
    ]
    if not again:
        return None
    changed = [act for act in again if _what(calls[act.call + 1]) != _what(act)]
    return truth(2 * len(changed) >= len(again), changed or again)


def _kind_of(act: Act) -> tuple[str | None, str | None, str | None]:
    event = act.event
    return event.tool, event.error_class, event.signature


def _what(act: Act) -> tuple[str | None, tuple[str, ...], frozenset[str]]:
    """Tool, programs and targets of a call. A service's target is what it is asked about."""
    event = act.event
    programs = tuple(dict.fromkeys(command.program for command in event.commands if command.program not in ("cd", "echo")))
    targets = frozenset(base(path) for path in act.paths)
    if not event.commands and not targets:
        targets = frozenset(str(value)[:200] for value in event.arguments.values())
    return event.tool, programs, targets


def errors_resolved(view: View) -> Found | None:
    """R3."""
    if not view.errors:
        return None
    last = {_kind_of(act): act for act in view.errors}
    successes = view.run.once(_successes)
    resolved = [act for act in last.values() if any(_resolves(later, act) for later in _candidates(successes, act, view.end))]
    return Found(len(resolved) / len(last), resolved or list(last.values()))


def _successes(run: Run) -> dict[str, list[Act]]:
    """The calls that succeeded, by what they are about: tool, kind, program, file."""
    found: dict[str, list[Act]] = {}
    for act in run.calls:
        if not act.failed and act.passed is not False and act.event.output is not None:
            for key in _about(act):
                found.setdefault(key, []).append(act)
    return found


def _about(act: Act) -> set[str]:
    event = act.event
    keys = {f"tool {event.tool}", f"kind {event.kind}"}
    keys.update(f"file {base(path)}" for path in act.paths)
    keys.update(f"program {program}" for program in _mains(act))
    return keys


def _candidates(successes: dict[str, list[Act]], error: Act, end: int) -> Iterator[Act]:
    """The next successes that may resolve an error, at most 200 of each sort."""
    event = error.event
    if event.error_class == "command_not_found":
        keys = [f"kind {event.kind}"]
    elif error.paths:
        keys = [f"file {base(path)}" for path in error.paths]
    else:
        keys = [f"program {program}" for program in _mains(error)] if event.commands else [f"tool {event.tool}"]
    for key in dict.fromkeys(keys):
        acts = successes.get(key, [])
        first = bisect_left(acts, error.place, key=_place)
        yield from (act for act in acts[first : first + _MOST] if act.place < end)


def _place(act: Act) -> int:
    return act.place


def _resolves(later: Act, error: Act) -> bool:
    """Whether a call of the same sort, on the same target where the failed one had one, succeeded."""
    event, other = error.event, later.event
    if event.tool != other.tool and event.kind != other.kind:
        return False
    if not event.commands:
        return event.tool == other.tool if not error.paths else _share(error, later)
    if event.error_class == "command_not_found":
        return event.kind == other.kind
    if error.paths:
        return _share(error, later) and (event.kind == other.kind or bool(_mains(error) & _mains(later)))
    return bool(_mains(error) & _mains(later))


def _share(one: Act, other: Act) -> bool:
    return not {base(path) for path in one.paths}.isdisjoint(base(path) for path in other.paths)


def _mains(act: Act) -> set[str]:
    return {command.program for command in act.event.commands if command.kind not in ("other", "noop")}


def repeats_failing_call(view: View) -> Found | None:
    """R4."""
    calls = view.calls
    followed = [act for act in view.errors if act.call + 1 < len(calls)]
    if not followed:
        return None
    return binary([calls[act.call + 1] for act in followed if calls[act.call + 1].event.key == act.event.key], followed)


def reverts_bad_change(view: View) -> Found | None:
    """R5."""
    if not view.edits:
        return None
    newly = list(_newly_failing(view))
    if not newly:
        return None
    reverts = [later for check in newly for later in view.following(check, _SOON) if later.call >= 0 and _undoes(later)]
    return binary(reverts, newly)


def _newly_failing(view: View) -> Iterator[Act]:
    """Checks that fail after an edit, where the one before did not fail."""
    passed: bool | None = None
    first = view.edits[0].place
    for check in view.checks:
        if check.passed is None:
            continue
        if check.passed is False and passed is not False and (check.place > first or check.checked_at > check.edited_at >= 0):
            yield check
        passed = check.passed


def _undoes(act: Act) -> bool:
    event = act.event
    if not event.commands:
        return _UNDO_TOOL.search(event.tool or "") is not None or event.arguments.get("command") == "undo_edit"
    return any(map(_undoes_by_shell, event.commands))


def _undoes_by_shell(command: Command) -> bool:
    words = command.words
    if command.program == "git":
        if words[:1] == ("checkout",):
            return "--" in words or bool(command.paths) or words[1:2] == (".",)
        return (words[:1] != () and words[0] in _UNDO_GIT) or (words[:1] == ("apply",) and "-R" in words)
    if command.program in ("cp", "mv"):
        return len(words) > 1 and any(_BACKUP.search(word) for word in words[:-1])
    return command.program == "patch" and "-R" in words
