"""Behaviours of exploration: what the agent looks at before it changes something."""

from __future__ import annotations

import re

from benchloop_analysis.behaviours.acts import Act
from benchloop_analysis.behaviours.naming import TEST_PATH, Names, base, same
from benchloop_analysis.behaviours.view import Found, Run, View, binary, truth

_SHARE = 0.8
_EARLY = 3
_TESTS = re.compile(r"(?<![a-z])(?:tests?|specs?)(?![a-z])", re.IGNORECASE)
_LOOKS = frozenset({"read", "search", "list"})
#: Errors of calls in which the program that was meant did not run.
_NOT_STARTED = frozenset({"command_not_found", "unknown_tool", "schema_error", "shell_syntax", "usage", "user_declined"})
_RUNS = frozenset({"run", "test", "build"})


def context_before_edit(view: View) -> Found | None:
    """E1."""
    firsts = [(act, edit) for act in view.edits for edit in act.edits if edit.first and edit.there and not edit.own and edit.path]
    if not firsts:
        return None
    blind = [act for act, edit in firsts if not edit.seen]
    return truth(len(firsts) - len(blind) >= _SHARE * len(firsts), blind or [act for act, _ in firsts])


def early_edit(view: View) -> Found | None:
    """E2."""
    return truth(view.changes[0].call < _EARLY, view.changes[:1]) if view.changes else None


def reads_named_paths(view: View) -> Found | None:
    """E3. A named file that the agent creates turns out to be a result."""
    created = Names(edit.path for act in view.edits for edit in act.edits if edit.first and not edit.there)
    wanted = [path for path in view.run.inputs if path not in created]
    if not wanted or not view.on_files:
        return None
    before = view.before_edit
    opened: list[Act] = []
    for path in wanted:
        first = next((act for act in before if not act.failed and _opens(act, path)), None)
        if first is None:
            return Found(0.0, view.edits[:1])
        opened.append(first)
    return Found(1.0, opened)


def _opens(act: Act, path: str) -> bool:
    if any(same(path, one) or one.startswith(f"{path}/") for one in act.paths):
        return True
    return bool(act.event.commands) and base(path) in (act.event.command or "")


def looks_for_tests(view: View) -> Found | None:
    """E4."""
    if not view.on_files:
        return None
    end = view.end if view.first_edit is None else view.first_edit.place
    return binary([act for act in view.which(_is_about_tests)[:1] if act.place < end], view.edits[:1])


def _is_about_tests(run: Run, act: Act) -> bool:
    event = act.event
    if any(TEST_PATH.search(path) for path in act.paths) or event.kind == "test":
        return True
    if event.commands:
        return any(command.kind in _LOOKS and any(_TESTS.search(word) for word in command.words) for command in event.commands)
    return event.kind in _LOOKS and any(isinstance(value, str) and _TESTS.search(value[:200]) for value in event.arguments.values())


def late_first_edit(view: View) -> Found | None:
    """E5."""
    return truth(2 * view.changes[0].turn >= view.turns, view.changes[:1]) if view.changes else None


def reproduces_first(view: View) -> Found | None:
    """E6."""
    if not view.on_files:
        return None
    foreign = next(iter(view.which(_edits_foreign)), view.first_edit)
    end = view.end if foreign is None else foreign.place
    return binary([act for act in view.which(_shows_failure)[:1] if act.place < end], [foreign] if foreign is not None else [])


def _edits_foreign(run: Run, act: Act) -> bool:
    return any(edit.there and not edit.own for edit in act.edits)


def _shows_failure(run: Run, act: Act) -> bool:
    event = act.event
    runs = event.kind in _RUNS or any(command.kind in _RUNS for command in event.commands)
    started = event.error_class not in _NOT_STARTED and event.exit_code not in (126, 127)
    return runs and started and (act.failed or act.passed is False)
