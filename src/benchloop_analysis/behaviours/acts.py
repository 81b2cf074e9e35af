"""What the agent did, one act after another: which files a call edits or looks at, whether it checks, whether it failed.

All about an act follows from what came before it and from its own result: the first acts of a run are the acts of its first steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from benchloop_analysis import outputs
from benchloop_analysis.behaviours.naming import Names, base, plain
from benchloop_analysis.behaviours.texts import Change, inline_changes, shell_changes, tool_changes
from benchloop_analysis.records import Command, Event
from benchloop_analysis.tables import Tables

_LOOKS = frozenset({"read", "search", "list"})
_OPENS = frozenset({"read", "search"})
_CHANGES = frozenset({"edit", "write", "delete"})
_LISTED = 20_000
#: Programs that answer "no" by exit code 1: that is no failure.
_ANSWERS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "ack", "diff", "cmp", "comm", "test", "[", "[[", "which", "type", "pgrep", "command"}
)
_FAILING = re.compile(
    r"(?<![\w.])[1-9]\d* (?:failed|failures?|errors?)\b|^FAILED\b|^FAIL\b|test result: FAILED|^make(?:\[\d+\])?: \*\*\*"
    r"|^\w*(?:Error|Exception): [^\n]*\s*\Z",
    re.MULTILINE,
)
_TAIL = 800
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[\w+-](?:[\w.+-]*[\w+-])?|\.[\w.+-]*\w")


class Edit(msgspec.Struct, frozen=True, gc=False):
    """One file that a call edits. `path` is plain, empty where the call does not say.

    `own`: the agent created it earlier; `there`: it is known to have been there before this call; `first`: not edited before; `seen`: read
    or found by a search in an earlier call. `whole`: its text is written anew.
    """

    path: str
    own: bool
    there: bool
    first: bool
    seen: bool
    whole: bool
    old: str | None
    new: str | None


class Act(msgspec.Struct, frozen=True, gc=False):
    """One event of the agent. `place` counts acts, `turn` steps of the agent, `work` steps of it that hold a call, all from 0 (`work` of
    words is that of the calls before them, -1 without any); `call` counts calls, -1 for words.

    `paths` and `looked` (those that are read or searched) are plain. `edited_at` and `checked_at` are the places of the last
    command that edits or checks, -1 without one. `tried`: an edit is attempted. `changes`: a file or a record of a service is changed.
    `passed` is what a check says, None where nothing is recorded. `failed`: it ended in an error.
    """

    event: Event
    place: int
    turn: int
    work: int
    call: int
    failed: bool
    tried: bool = False
    changes: bool = False
    paths: tuple[str, ...] = ()
    looked: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    edited_at: int = -1
    checked_at: int = -1
    passed: bool | None = None

    @property
    def checks(self) -> bool:
        """Whether it is a check."""
        return self.checked_at >= 0


def read_acts(events: Iterable[Event], scripts: Iterable[str], tables: Tables) -> Iterator[Act]:
    """The acts of the agent. `scripts` are files that the task names: running one is a check."""
    reader = _Reader(scripts, tables)
    for event in events:
        if event.source == "agent":
            yield reader.act(event)


def fails(event: Event) -> bool:
    """Whether a call ended in an error. A program that answers "no" by its exit code did not."""
    if not event.is_error:
        return False
    if event.exit_code != 1 or not event.commands:
        return True
    return event.commands[-1].program not in _ANSWERS


def passes(event: Event, failed: bool) -> bool | None:
    """What a check says; None where no result is recorded."""
    if failed:
        return False
    if event.output is None or event.arguments.get("run_in_background") is True or event.output.startswith("Command running in background"):
        return None
    return _FAILING.search(event.output[-_TAIL:]) is None


def spoken(event: Event) -> str:
    """The words of an event. A converter that had none to write says `Executed <tool> <id>`: that is not the agent's."""
    text = event.text
    if text.startswith("Executed ") and len(text) < 200 and len(text.split()) == 3:
        return ""
    return text


class _Mentioned:
    """The names that stand in texts. They are taken out of a text when something is first asked about it."""

    __slots__ = ("_names", "_waiting")

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        self._waiting.append(text)

    def __contains__(self, name: str) -> bool:
        for text in self._waiting:
            self._names.update(_NAME.findall(text))
        self._waiting.clear()
        return name in self._names


class _Reader:
    """What is remembered from act to act."""

    def __init__(self, scripts: Iterable[str], tables: Tables) -> None:
        self._tables = tables
        self._scripts = Names(scripts)
        self._created, self._edited, self._seen, self._met = Names(), Names(), Names(), Names()
        self._edited_words: set[str] = set()
        self._listed, self._found = _Mentioned(), _Mentioned()
        self._place = self._turn = self._work = self._call = -1
        self._worked = False
        self._step: int | None = None

    def act(self, event: Event) -> Act:
        """The next act."""
        self._place += 1
        if event.step_id != self._step:
            self._turn += 1
            self._step = event.step_id
            self._worked = False
        if event.tool is None:
            return Act(event, self._place, self._turn, self._work, -1, False)
        if not self._worked:
            self._worked = True
            self._work += 1
        self._call += 1
        failed = fails(event)
        paths = tuple(map(plain, event.paths))
        applied = not event.is_error or (
            bool(event.commands) and event.error_class not in outputs.REFUSED and not _only_edits(event.commands)
        )
        found = tuple(self._changes_of(event))
        edits, edited_at, checked_at = self._edits_and_checks(event, found if applied else ())
        looked = self._looked(event, paths)
        act = Act(
            event,
            self._place,
            self._turn,
            self._work,
            self._call,
            failed,
            tried=bool(found),
            changes=bool(edits) or (not event.is_error and (event.kind == "delete" or (event.command is None and event.kind == "write"))),
            paths=paths,
            looked=looked,
            edits=edits,
            edited_at=edited_at,
            checked_at=checked_at,
            passed=passes(event, failed) if checked_at >= 0 else None,
        )
        self._remember(event, act)
        return act

    def _changes_of(self, event: Event) -> Iterator[Change]:
        """The files that a call would edit."""
        if event.command is not None:
            yield from shell_changes(event.command, event.commands)
        elif event.kind == "edit" or (event.kind == "write" and event.paths):
            yield from tool_changes(event, self._tables.tools.content)
        elif event.kind == "run":
            yield from inline_changes(next((value for value in event.arguments.values() if isinstance(value, str)), ""), 0)

    def _edits_and_checks(self, event: Event, found: tuple[Change, ...]) -> tuple[tuple[Edit, ...], int, int]:
        edits = []
        checked_at = -1
        waiting = list(found)
        for at, command in enumerate(event.commands or (None,)):
            if (not waiting or waiting[0].at != at) and self._is_check(event, command):
                checked_at = at
            while waiting and waiting[0].at <= at:
                edits.append(self._edit(waiting.pop(0)))
        edits += [self._edit(change) for change in waiting]
        return tuple(edits), (max(change.at for change in found) if found else -1), checked_at

    def _edit(self, change: Change) -> Edit:
        path = plain(change.path)
        own = path in self._created
        there = own or change.in_place or path in self._edited or path in self._met or base(path) in self._listed
        edit = Edit(
            path=path,
            own=own,
            there=there,
            first=path not in self._edited,
            seen=path in self._seen or base(path) in self._found,
            whole=change.whole,
            old=change.old,
            new=change.new,
        )
        if path:
            if not there:
                self._created.add(path)
            self._edited.add(path)
            name = base(path)
            self._edited_words.update((name, name.partition(".")[0]))
        return edit

    def _is_check(self, event: Event, command: Command | None) -> bool:
        kind = event.kind if command is None else command.kind
        if kind in ("test", "build"):
            return event.tool is not None and (command is not None or event.kind in ("test", "build"))
        if kind != "run":
            return False
        if command is None:
            return self._speaks_of_edited(str(next(iter(event.arguments.values()), "")))
        if command.program in self._edited_words or any(
            plain(path) in self._edited or plain(path) in self._scripts for path in command.paths
        ):
            return True
        if "-c" in command.words or "-e" in command.words or ("<<" in (event.command or "") and command.program not in ("cat", "tee")):
            return self._speaks_of_edited(event.command or "")
        return any(word in self._edited_words for word in command.words if len(word) > 2)

    def _speaks_of_edited(self, code: str) -> bool:
        """Whether code names an edited file, or the module that it is."""
        words = {word for word in self._edited_words if len(word) > 3}
        return bool(words) and not words.isdisjoint(_WORD.findall(code[:_LISTED]))

    def _looked(self, event: Event, paths: tuple[str, ...]) -> tuple[str, ...]:
        if not event.commands:
            return paths if event.kind in _OPENS else ()
        return tuple(plain(path) for command in event.commands if command.kind in _OPENS for path in command.paths)

    def _remember(self, event: Event, act: Act) -> None:
        if act.failed:
            return
        for path in act.looked:
            self._seen.add(path)
        for path in act.paths:
            self._met.add(path)
        looks = event.kind in _LOOKS or any(command.kind in _LOOKS for command in event.commands)
        if looks and event.output:
            text = event.output[:_LISTED]
            self._listed.add(text)
            if event.kind == "search" or any(command.kind == "search" for command in event.commands):
                self._found.add(text)


def _only_edits(commands: tuple[Command, ...]) -> bool:
    return all(command.kind in _CHANGES or command.program in ("cd", "echo", "cat") for command in commands)
