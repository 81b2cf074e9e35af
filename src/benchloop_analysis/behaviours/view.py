"""A job's run, or its first steps, as behaviours look at it: prepared once, cut as often as is wanted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar, cast

from benchloop_analysis.behaviours.acts import Act, read_acts, spoken
from benchloop_analysis.behaviours.naming import named_files
from benchloop_analysis.case import Case
from benchloop_analysis.tables import Tables

#: Of what is said in one step, as much as this from its beginning and from its end.
_SAID = 4_000
_T = TypeVar("_T")


class Found(NamedTuple):
    """What a behaviour comes to, and the acts that show it."""

    value: float
    shown: Sequence[Act] = ()


class Run:
    """A whole run: its acts, and what several behaviours ask of the job, worked out once."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.tables: Tables = case.tables
        self.instruction = case.trajectory.instruction
        self.inputs, self.outputs = named_files(self.instruction)
        self.acts = tuple(read_acts(case.events, self.inputs, case.tables))
        self.calls = [act for act in self.acts if act.call >= 0]
        self.edits = [act for act in self.calls if act.edits]
        self.checks = [act for act in self.calls if act.checked_at >= 0]
        self.errors = [act for act in self.calls if act.failed]
        self.changes = [act for act in self.calls if act.changes]
        self.turns = self.acts[-1].turn + 1 if self.acts else 0
        self.starts = _starts(self.acts, self.turns)
        self.work_starts = _work_starts(self.calls)
        first = self.acts[0].event.position if self.acts else -1
        self.replies = [event.position for event in case.events if event.source == "user" and event.position > first >= 0]
        self.first_words = next((act.place for act in self.acts if act.event.thinking or spoken(act.event)), len(self.acts))
        self.on_files = next((act.place for act in self.calls if act.event.command is not None or _is_file(act)), len(self.acts))

        self._marked: dict[Mark, list[Act]] = {}
        self._known: dict[Callable[[Run], object], object] = {}

    @cached_property
    def said(self) -> list[str]:
        """What the agent said and thought in each of its steps, in lower case; the middle of long texts is left out."""
        words = [""] * self.turns
        for act in self.acts:
            event = act.event
            text = spoken(event)
            if text or event.thinking:
                words[act.turn] = f"{words[act.turn]}\n{_edges(text)}\n{_edges(event.thinking)}".lower()
        return words

    def marked(self, mark: Mark) -> list[Act]:
        """The calls of the whole run that the mark is true of; it is asked once of each."""
        found = self._marked.get(mark)
        if found is None:
            found = self._marked[mark] = [act for act in self.calls if mark(self, act)]
        return found

    def once(self, work: Callable[[Run], _T]) -> _T:
        """What `work` makes of the whole run, made once."""
        if work not in self._known:
            self._known[work] = work(self)
        return cast(_T, self._known[work])

    def view(self, turns: int | None = None) -> View:
        """The run as far as the first `turns` steps of the agent, whole with None."""
        return View(self, self.turns if turns is None else min(turns, self.turns))


class View:
    """The first `turns` steps of the agent: `acts`, and among them `calls`, `edits`, `checks`, `errors` and `changes`, in order."""

    __slots__ = ("acts", "calls", "changes", "checks", "edits", "end", "errors", "first_edit", "last_edit", "on_files", "run", "turns")

    def __init__(self, run: Run, turns: int) -> None:
        self.run, self.turns = run, turns
        whole = turns >= run.turns
        end = self.end = len(run.acts) if whole else run.starts[turns]
        self.acts = run.acts if whole else run.acts[:end]
        self.calls = _until(run.calls, end)
        self.edits = _until(run.edits, end)
        self.checks = _until(run.checks, end)
        self.errors = _until(run.errors, end)
        self.changes = _until(run.changes, end)
        self.first_edit = self.edits[0] if self.edits else None
        self.last_edit = self.edits[-1] if self.edits else None
        #: Whether the run works on files or in a shell.
        self.on_files = run.on_files < end

    def which(self, mark: Mark) -> list[Act]:
        """The calls that the mark is true of; it must not depend on later acts."""
        return _until(self.run.marked(mark), self.end)

    @property
    def before_edit(self) -> Sequence[Act]:
        """The calls before the first edit; all where nothing is edited."""
        return self.calls if self.first_edit is None else self.calls[: self.first_edit.call]

    @property
    def replies(self) -> list[int]:
        """Positions of the user's messages during the run."""
        last = self.acts[-1].event.position if self.acts else -1
        return [position for position in self.run.replies if position < last]

    @property
    def has_words(self) -> bool:
        """Whether any words or thoughts of the agent are recorded."""
        return self.run.first_words < self.end

    @property
    def works(self) -> int:
        """Steps of the agent that hold a call."""
        return self.calls[-1].work + 1 if self.calls else 0

    def following(self, call: Act, steps: int, among: list[Act] | None = None) -> Sequence[Act]:
        """The acts after a call, to the end of the next `steps` steps with a call and the words behind them; `among`: only of these."""
        last = call.work + steps + 1
        starts = self.run.work_starts
        end = self.end if last >= len(starts) else min(self.end, starts[last])
        if among is None:
            return self.acts[call.place + 1 : end]
        return among[bisect_left(among, call.place + 1, key=_place) : bisect_left(among, end, key=_place)]


def _starts(acts: tuple[Act, ...], turns: int) -> list[int]:
    starts = [0] * turns
    for act in reversed(acts):
        starts[act.turn] = act.place
    return starts


def _work_starts(calls: list[Act]) -> list[int]:
    starts: list[int] = []
    for call in calls:
        if call.work == len(starts):
            starts.append(call.place)
    return starts


def _until(acts: list[Act], end: int) -> list[Act]:
    return acts if not acts or acts[-1].place < end else acts[: bisect_left(acts, end, key=_place)]


def _place(act: Act) -> int:
    return act.place


def _is_file(act: Act) -> bool:
    return bool(act.paths) or act.tried or act.event.kind in ("run", "test", "build", "install", "vcs")


def _edges(text: str) -> str:
    return text if len(text) <= 2 * _SAID else f"{text[:_SAID]}\n{text[-_SAID:]}"


#: Whether something is true of a call, from itself and what came before it.
Mark: TypeAlias = Callable[[Run, Act], bool]
#: One behaviour: what it comes to in a view, None where it does not apply.
Seen: TypeAlias = Callable[[View], "Found | None"]


def binary(shown: Sequence[Act], otherwise: Sequence[Act] = ()) -> Found:
    """1 with the acts that show it; 0 without any, with those that it was to be seen at."""
    return Found(1.0, shown) if shown else Found(0.0, otherwise)


def truth(value: bool, shown: Sequence[Act] = ()) -> Found:
    """1 or 0, with the acts that decide."""
    return Found(1.0 if value else 0.0, shown)
