"""What every action is given: the client, who watches, and how JSON is laid out; and the one way to do something for many items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from benchloop_client.actions.destination import Outcome
from benchloop_client.actions.events import Counter, Event, Moved, Skipped, Watch, unwatched
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.selection import EVERY, Selection
from benchloop_client.client import Client, Stream
from benchloop_client.contract.ids import BadId
from benchloop_client.errors import BenchloopError, IntegrityError, LocalError, NetworkError
from benchloop_client.transfer import pool

Item = TypeVar("Item")
Value = TypeVar("Value")

_MOSTLY = 1 / 3
#: Bodies up to this size are not shown while they arrive.
_SMALL = 1 << 17


@dataclass(frozen=True, slots=True)
class Chosen:
    """The jobs that are wanted, in the order of the job list, out of how many; `size` is what their trajectories come to in bytes."""

    jobs: tuple[str, ...]
    of: int
    size: int | None

    @property
    def mostly(self) -> bool:
        """Whether that is so large a part of the group that one stream of everything is cheaper than a request for each."""
        return len(self.jobs) >= self.of * _MOSTLY


@dataclass(frozen=True)
class Work:
    """Passed from action to action; cheap to make."""

    client: Client
    watch: Watch = unwatched
    layout: Layout = field(default_factory=Layout)
    #: Which jobs of groups and download tasks are meant, where an action is about all of them.
    selection: Selection = EVERY
    #: What that came to, for each group that was looked at.
    chosen: dict[str, Chosen] = field(default_factory=dict)
    #: Whether there is a server at all.
    reach: pool.Reach = field(default_factory=pool.Reach)

    def results(self, items: Iterable[Item], task: Callable[[Item], Value], *, ordered: bool = False) -> Iterator[pool.Result[Item, Value]]:
        """`task(item)` for each item on the pool of threads; errors that are not ours are raised, ours are in the results.

        A refused key, a full disk, a deadline and a cancel end the whole at once. A broken answer is asked for again within the retry
        budget. When one item after another meets no server, the rest fail without being tried.
        """
        work = self._guarded(task)
        for result in pool.run(items, work, width=self.client.width, cancel=self.client.cancel, ordered=ordered):
            if result.error is not None and not isinstance(result.error, BenchloopError):
                raise result.error
            yield result

    def run(
        self, items: Iterable[Item], task: Callable[[Item], object], *, label: Callable[[Item], str] = str, count: Ended | None = None
    ) -> Report:
        """`task(item)` for each item; failures are reported in the order of the items. `count` is told of each that ended."""
        done = 0
        failures: dict[int, Failure] = {}
        for result in self.results(items, task):
            if result.error is None:
                done += 1
            else:
                assert isinstance(result.error, BenchloopError)
                failures[result.index] = Failure(label(result.item), result.error)
            if count is not None:
                count.ended(label(result.item), result.value, failed=result.error is not None)
        return Report(done, tuple(failures[index] for index in sorted(failures)))

    def in_turn(
        self, items: Iterable[Item], task: Callable[[Item], object], *, label: Callable[[Item], str] = str, count: Ended | None = None
    ) -> Report:
        """As `run`, one item after another in this thread: for items that use the pool themselves."""
        work = self._guarded(task)
        done = 0
        failures: list[Failure] = []
        for item in items:
            failed, value = False, None
            try:
                value = work(item)
                done += 1
            except pool.FATAL:
                raise
            except BenchloopError as error:
                failures.append(Failure(label(item), error))
                failed = True
            if count is not None:
                count.ended(label(item), value, failed=failed)
        return Report(done, tuple(failures))

    def _guarded(self, task: Callable[[Item], Value]) -> Callable[[Item], Value]:
        def work(item: Item) -> Value:
            self.reach.check()
            try:
                value = self.client.retrying(lambda: task(item))
                self.reach.note(None)
                return value
            except NetworkError as error:
                self.reach.note(error)
                raise
            except BadId as error:
                raise IntegrityError(str(error)) from None
            except OSError as error:
                raise LocalError(f"{error.strerror or error}: {error.filename or item}") from None

        return work


class Ended(Protocol):
    """Is told of each item that ended, in the thread that runs the pool."""

    def ended(self, label: str, value: object, *, failed: bool) -> None:
        """One item ended; `value` is what its task returned."""


@dataclass(frozen=True)
class Counted:
    """Steps a counter for each item: with `verb` and the item's value when it has one, else the label."""

    counter: Counter
    verb: str

    def ended(self, label: str, value: object, *, failed: bool) -> None:
        """One item ended."""
        self.counter.step("failed" if failed else self.verb, label if failed or value is None else str(value))


def moving(stream: Stream, name: str, watch: Watch) -> Iterator[bytes]:
    """The plain bytes of a stream, whoever watches being told of each piece, unless it is a small one that is there at once."""
    at_once = stream.wire_length if stream.wire_length is not None and stream.wire_length <= _SMALL else None
    told_of = False
    try:
        for chunk in stream:
            if stream.received != at_once:
                told_of = True
                watch(Moved(name, stream.received, stream.wire_length))
            yield chunk
    finally:
        if told_of or at_once is None:
            watch(Moved(name, stream.received, stream.received))


def told(work: Work, name: str, pieces: Iterable[bytes | memoryview], start: int, total: int | None) -> Iterator[bytes | memoryview]:
    """`pieces`, whoever watches being told of each."""
    try:
        for piece in pieces:
            start += len(piece)
            work.watch(Moved(name, start, total))
            yield piece
    finally:
        work.watch(Moved(name, start, start))


def placed(work: Work, outcome: Outcome, event: Callable[[Path], Event]) -> Path:
    """Tell the watcher what became of a file; returns its path."""
    work.watch(Skipped(outcome.path) if outcome.kept else event(outcome.path))
    return outcome.path
