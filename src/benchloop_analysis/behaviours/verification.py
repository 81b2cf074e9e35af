"""Behaviours of verification: whether the agent checks what it did."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchloop_analysis.behaviours.acts import Act
from benchloop_analysis.behaviours.naming import TEST_PATH, base, plain, same
from benchloop_analysis.behaviours.view import Found, Run, View, binary, truth
from benchloop_analysis.tables import Programs

_SOON = 3
_BACK = 2
_TEST_CODE = re.compile(
    r"^\s*(?:async )?def test_\w+|^\s*class Test\w+|^\s*(?:it|test|describe)\(['\"`]|#\[test\]|^func Test\w+|@Test\b|^TEST(?:_F)?\(",
    re.MULTILINE,
)
_TEST_SIGNS = ("def test_", "class Test", "it(", "test(", "describe(", "#[test]", "func Test", "@Test", "TEST(", "TEST_F(")
_CODE = 20_000


def check_after_last_edit(view: View) -> Found | None:
    """V1."""
    if view.last_edit is None:
        return None
    after = checks_after(view, view.last_edit)
    return binary(after, [view.last_edit])


def checks_after(view: View, edit: Act) -> list[Act]:
    """The checks after an edit; one in the same call counts where it comes behind."""
    own = [edit] if edit.checked_at > edit.edited_at else []
    return own + [act for act in view.checks if act.place > edit.place]


def check_rate(view: View) -> Found | None:
    """V2."""
    if not view.edits:
        return None
    places = [(act.place, act.work) for act in view.checks]
    missed: list[Act] = []
    at = 0
    for edit in view.edits:
        while at < len(places) and places[at][0] <= edit.place:
            at += 1
        soon = edit.checked_at > edit.edited_at or (at < len(places) and places[at][1] - edit.work <= _SOON)
        if not soon:
            missed.append(edit)
    return Found(1 - len(missed) / len(view.edits), missed or view.edits)


def passing_check_at_end(view: View) -> Found | None:
    """V3."""
    if view.last_edit is None:
        return None
    told = [act for act in checks_after(view, view.last_edit) if act.passed is not None]
    return truth(told[-1].passed is True, told[-1:]) if told else None


def reads_back_edit(view: View) -> Found | None:
    """V4."""
    if not view.edits:
        return None
    back = [edit for edit in view.edits if any(_looks_at(act, edit) for act in view.following(edit, _BACK, view.which(_looks)))]
    return truth(2 * len(back) >= len(view.edits), back or view.edits)


def _looks(run: Run, act: Act) -> bool:
    return not act.failed and (bool(act.looked) or _shows_difference(act))


def _shows_difference(act: Act) -> bool:
    return any(command.program == "git" and command.words[:1] in (("diff",), ("show",)) for command in act.event.commands)


def _looks_at(act: Act, edited: Act) -> bool:
    return _shows_difference(act) or any(same(edit.path, path) for edit in edited.edits if edit.path for path in act.looked)


def adds_own_test(view: View) -> Found | None:
    """V5."""
    if not view.edits:
        return None
    return binary(view.which(_writes_test), view.edits[:1])


def _writes_test(run: Run, act: Act) -> bool:
    return any(_is_test(edit.path, edit.there, edit.new) for edit in act.edits)


def _is_test(path: str, there: bool, text: str | None) -> bool:
    if not there and TEST_PATH.search(path):
        return True
    return text is not None and any(sign in text for sign in _TEST_SIGNS) and _TEST_CODE.search(text[:_CODE]) is not None


def varied_inputs(view: View) -> Found | None:
    """V6."""
    inputs: dict[str, dict[str, Act]] = {}
    for act, script, given in view.run.once(_all_runs):
        if act.place < view.end:
            inputs.setdefault(script, {}).setdefault(given, act)
    if not inputs:
        return None
    most = max(inputs.values(), key=len)
    return truth(len(most) > 1, list(most.values()))


def _all_runs(run: Run) -> list[tuple[Act, str, str]]:
    programs = run.tables.programs
    return [(act, script, given) for act in run.calls if act.event.commands for script, given in _runs(act, programs)]


def _runs(act: Act, programs: Programs) -> Iterator[tuple[str, str]]:
    """Scripts and programs that are files, each with what it is given: its arguments and what is fed to it."""
    for command in act.event.commands:
        if command.kind not in ("run", "test"):
            continue
        words = list(command.words)
        if command.program in programs.kinds or command.program.startswith("python"):
            if command.kind == "test" or "-c" in words or "-m" in words:
                continue
            at = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
            if at is None or not ("." in words[at] or "/" in words[at]):
                continue
            script, rest = words[at], words[at + 1 :]
        else:
            script, rest = command.program, words
        yield base(plain(script)), " ".join(rest) + _fed(act.event.command or "", script)


def _fed(command: str, script: str) -> str:
    """What stands before a pipe into the script, or behind a sign for input."""
    at = command.find(base(script))
    if at < 0 or ("|" not in command and "<" not in command):
        return ""
    left = re.split(r"[;\n]|&&", command[:at])[-1]
    right = re.match(r"[^|;&\n]*?(<{1,3}\s*\S+)", command[at:])
    body = command[command.find("\n", at) :][:200] if right is not None and right.group(1).startswith("<<") else ""
    return (left if "|" in left else "") + (right.group(1) if right is not None else "") + body


def touches_all_artefacts(view: View) -> Found | None:
    """V7."""
    wanted = view.run.outputs
    if not wanted or not view.on_files:
        return None
    begin = view.turns - max(1, view.turns // 3)
    late = [act for act in view.acts[view.run.starts[begin] :] if act.call >= 0 and not act.failed]
    touched = [next((act for act in late if _touches(act, path)), None) for path in wanted]
    if any(act is None for act in touched):
        return Found(0.0, view.acts[-1:])
    return Found(1.0, [act for act in touched if act is not None])


def _touches(act: Act, path: str) -> bool:
    if any(same(path, one) for one in act.looked):
        return True
    event = act.event
    if any(same(path, plain(one)) for command in event.commands if command.kind in ("run", "test", "build") for one in command.paths):
        return True
    return act.checked_at >= 0 and base(path) in (event.command or "")
