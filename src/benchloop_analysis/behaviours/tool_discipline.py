"""Behaviours of tool use: calls that are right, edits that fit, outputs that are not drowned, errors that are not passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchloop_analysis import outputs
from benchloop_analysis.behaviours.acts import Act, spoken
from benchloop_analysis.behaviours.naming import base
from benchloop_analysis.behaviours.view import Found, Run, View, binary, truth
from benchloop_analysis.records import Command, Event
from benchloop_analysis.tables import Programs

_REFUSED = frozenset({"schema_error", "unknown_tool"})
_SOON = 3
_WORD = re.compile(r"[\w.-]{3,}")
_NOT_WAITING = frozenset({"watch", "screen", "tmux", "ed", "man"})
#: Options with which a program does its work and ends.
_BATCH = frozenset({"--version", "-V", "--help", "-h", "-c", "-e", "-es", "-m", "-f", "-n", "-b", "-batch", "--batch", "-x", "-q", "-t"})
#: A sign that something is fed to the program.
_FED = re.compile(r"<|\|")


def valid_calls(view: View) -> Found | None:
    """T1. What a shell command prints is no refusal of the call."""
    if not view.calls:
        return None
    refused = [act for act in view.errors if act.event.command is None and act.event.error_class in _REFUSED]
    return Found(1 - len(refused) / len(view.calls), refused)


def edit_success(view: View) -> Found | None:
    """T2."""
    tried = view.which(_tries)
    if not tried:
        return None
    failed = [act for act in tried if not act.edits]
    return Found(1 - len(failed) / len(tried), failed or tried)


def _tries(run: Run, act: Act) -> bool:
    return act.tried


def structured_edit(view: View) -> Found | None:
    """T3."""
    there = [(act, edit) for act in view.edits for edit in act.edits if edit.there and edit.path]
    if not there:
        return None
    rewritten = [act for act, edit in there if edit.whole]
    return truth(not rewritten, rewritten or [act for act, _ in there])


def bounded_output(view: View) -> Found | None:
    """T4."""
    answered = view.which(_answered)
    if not answered:
        return None
    cut = view.which(_is_cut)
    return Found(1 - len(cut) / len(answered), cut)


def _answered(run: Run, act: Act) -> bool:
    return act.event.output is not None


def _is_cut(run: Run, act: Act) -> bool:
    return act.event.truncated


def non_interactive(view: View) -> Found | None:
    """T5."""
    if not view.which(_is_shell):
        return None
    waiting = view.which(_starts_waiting)
    return truth(not waiting, waiting)


def _is_shell(run: Run, act: Act) -> bool:
    return bool(act.event.commands)


def _starts_waiting(run: Run, act: Act) -> bool:
    if act.event.error_class in outputs.REFUSED:
        return False
    programs = run.tables.programs
    return any(_waits(command, act.event, programs) for command in act.event.commands)


def _waits(command: Command, event: Event, programs: Programs) -> bool:
    if command.background or event.arguments.get("run_in_background") is True:
        return False
    program, words = command.program, command.words
    text = event.command or ""
    if program.startswith("python") and any(word in programs.servers for word in words[:2]):
        return True
    if not _BATCH.isdisjoint(words):
        return False
    if program in programs.interactive and program not in _NOT_WAITING:
        return program not in ("less", "more") or not _FED.search(text)
    if program in programs.interactive_bare:
        return not [word for word in words if not word.startswith("-") or word == "-"] and not _FED.search(text)
    return program in programs.servers and words[:1] != ("stop",) and not _detaches(text, words)


def _detaches(text: str, words: tuple[str, ...]) -> bool:
    """Whether a server says that it goes behind, as many do without being told by the shell."""
    return bool({"-daemonize", "--daemon", "--daemonize", "-D", "-d", "-s", "-t"} & set(words)) or "nginx" in text or "timeout " in text


def ignores_error(view: View) -> Found | None:
    """T6."""
    judged = [act for act in view.errors if act.work + _SOON < view.works and act.event.error_class != "user_declined"]
    if not judged:
        return None
    return binary([act for act in judged if not any(_deals(later, act) for later in view.following(act, _SOON))], judged)


def _deals(later: Act, error: Act) -> bool:
    """Whether an act comes back to what failed: the same call or tool, its files, what its output names, or words to the user."""
    if later.call < 0:
        return bool(spoken(later.event).strip())
    if not error.event.commands:
        return later.event.tool == error.event.tool or not set(_targets(error)).isdisjoint(_targets(later))
    if not set(_targets(error)).isdisjoint(_targets(later)):
        return True
    tail = (error.event.output or "")[-4_000:]
    return any(base(path) in tail for path in later.paths if len(base(path)) > 2)


def _targets(act: Act) -> Iterator[str]:
    """What a call is about: its files, programs and words."""
    event = act.event
    yield from (base(path) for path in act.paths)
    if event.commands:
        for command in event.commands:
            if command.kind not in ("other", "noop"):
                yield command.program
            yield from (base(word) for word in command.words if len(word) > 2 and not word.startswith("-") and len(word) < 200)
    else:
        for value in event.arguments.values():
            if isinstance(value, str):
                yield from _WORD.findall(value[:1_000])
