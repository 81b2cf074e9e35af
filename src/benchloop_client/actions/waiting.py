"""Waiting for what a server works on: all items are asked after together, less and less often, until each is there or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from benchloop_client.actions.events import Counter, Noted
from benchloop_client.actions.report import Failure
from benchloop_client.actions.work import Work
from benchloop_client.contract.analysis import NOT_ANALYSED, QUEUED, RUNNING
from benchloop_client.errors import BenchloopError, Cancelled, NotReady, one_line

Item = TypeVar("Item")

NOT_HERE = "the request is kept, but this server does not analyse yet; nothing to wait for"
_FAILED = frozenset({"failed", "failure", "error", "errored", "cancelled", "canceled", "timeout", "timed_out"})
_DONE = frozenset({"done", "completed", "complete", "succeeded", "success", "successful", "finished", "ready", "analysed", "analyzed"})
#: There may be an answer already, and a newer one will come.
_BUSY = frozenset({QUEUED, RUNNING, "pending", "waiting"})
_SLOWER = 1.5


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, in seconds, and how the pauses between two looks grow from `first` to `longest`."""

    timeout: float = 1800.0
    first: float = 1.0
    longest: float = 15.0
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Look:
    """What one look showed: whether it is there, the answer, and the state in words."""

    done: bool
    answer: Any
    words: str = ""


def judged(answer: Any, *, there: bool, words: str = "") -> Look:
    """What an answer means by its `status`, a word that servers choose freely, and by whether what is waited for is `there`.

    Raises `NotReady` for a server that does not analyse, and for work that failed there.
    """
    status = answer.get("status") if isinstance(answer, dict) else None
    state = status.strip().lower() if isinstance(status, str) else ""
    if state == NOT_ANALYSED:
        raise NotReady(NOT_HERE, code=NOT_ANALYSED)
    if state in _FAILED:
        why = answer.get("error")
        because = f": {one_line(why)}" if isinstance(why, str) and why else ""
        raise NotReady(f"the server ended it with status {status}{because}", code="analysis_failed")
    return Look(state in _DONE or (there and state not in _BUSY), answer, words or state)


@dataclass
class Awaited(Generic[Item]):
    """What came of a wait: the answer of each item that got there, by its place, and the failures in the order of the items."""

    answers: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)


class Wait(Generic[Item]):
    """One wait for `items`; `look` is called on the pool of threads, and raises what ends the wait for its item."""

    def __init__(
        self, work: Work, items: Sequence[Item], look: Callable[[Item], Look], *, patience: Patience, what: str, unit: str = "ids"
    ) -> None:
        """`what` names in a few words what is waited for."""
        self._work, self._look, self._patience = work, look, patience
        self._items = items
        self._counter = Counter(work.watch, f"waiting for {what}", unit, len(items), timed=True)
        self._words = ""
        self._found: Awaited[Item] = Awaited()

    def until_done(self) -> Awaited[Item]:
        """Return when every item is there or has failed. Raises `AuthError` and `Cancelled`."""
        pending = list(range(len(self._items)))
        end = self._patience.clock() + self._patience.timeout
        pause = self._patience.first
        while pending := self._round(pending):
            left = end - self._patience.clock()
            if left <= 0:
                self._give_up(pending)
                break
            if self._work.client.cancel.wait(min(pause, left)):
                raise Cancelled
            pause = min(pause * _SLOWER, self._patience.longest)
        return self._found

    def _round(self, pending: list[int]) -> list[int]:
        """Look at each once; returns those that are not there yet."""
        still: list[int] = []
        for result in self._work.results(pending, lambda place: self._look(self._items[place]), ordered=True):
            if isinstance(result.error, BenchloopError):
                self._failed(result.item, result.error)
            elif result.value is not None and result.value.done:
                self._found.answers[result.item] = result.value.answer
                self._counter.step("done", str(self._items[result.item]))
            else:
                still.append(result.item)
                self._say(result.item, result.value.words if result.value is not None else "")
        return still

    def _failed(self, place: int, error: BenchloopError) -> None:
        self._found.failures[place] = Failure(str(self._items[place]), error)
        self._counter.step("ended", str(self._items[place]))

    def _give_up(self, pending: list[int]) -> None:
        after = f"still not there after {self._patience.timeout:g} s; it goes on at the server, ask again later"
        for place in pending:
            self._failed(place, NotReady(after, code="wait_timeout"))

    def _say(self, place: int, words: str) -> None:
        """Tell the state of a single item when it changed; of many the counter tells enough."""
        if len(self._items) == 1 and words and words != self._words:
            self._words = words
            self._work.watch(Noted(f"{self._items[place]}: {words}"))
