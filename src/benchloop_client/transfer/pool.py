"""Many pieces of work on a bounded number of threads, drawn from an iterator as needed; ends at once on a fatal error or a cancel."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from benchloop_client.errors import AuthError, Cancelled, DeadlinePassed, DiskFull, NetworkError

Item = TypeVar("Item")
Value = TypeVar("Value")

#: After one of these the rest is not even asked for.
FATAL: tuple[type[BaseException], ...] = (AuthError, DiskFull, Cancelled, DeadlinePassed)
#: Results that may wait for an earlier one when order matters, for each thread.
_WINDOW = 4
_TICK = 0.1
_GRACE = 0.6
#: After a fatal error, how long what is under way may take to end, in seconds.
_DRAIN = 5.0


class Reach:
    """Whether the server can be reached at all: after so many items in a row that met no server, the rest need not be tried."""

    def __init__(self, enough: int = 10) -> None:
        self._enough = enough
        self._in_a_row = 0
        self._last = ""

    def check(self) -> None:
        """Raise `NetworkError` if trying is pointless."""
        if self._in_a_row >= self._enough:
            raise NetworkError(f"not tried, since {self._enough} others in a row met no server ({self._last})", unreached=True)

    def note(self, error: NetworkError | None) -> None:
        """An item ended with this error, or (None) with an answer."""
        if error is None or not error.unreached:
            self._in_a_row = 0
        else:
            self._last = error.message.removeprefix("network: ")
            self._in_a_row += 1


@dataclass(frozen=True, slots=True)
class Result(Generic[Item, Value]):
    """What became of one item: `error` is None on success. `index` counts the items from 0."""

    index: int
    item: Item
    value: Value | None = None
    error: Exception | None = None


#: How many threads may work at once, asked anew each time.
Width = Callable[[], int]


def run(
    items: Iterable[Item],
    work: Callable[[Item], Value],
    *,
    width: Width,
    cancel: threading.Event,
    ordered: bool = False,
    fatal: tuple[type[BaseException], ...] = FATAL,
) -> Iterator[Result[Item, Value]]:
    """`work(item)` for each of `items`, results as they come or (`ordered`) in the order of the items. An exception of `work` becomes the
    result's `error`; a `fatal` one is yielded too, then no further item is begun, and it is raised once those under way have ended. When
    `cancel` is set (Ctrl-C sets it), raises `Cancelled` within a second; work still stuck then is left behind in daemon threads.
    """
    crew = _Crew(work, cancel)
    try:
        arrived = _arrivals(items, crew, width, ordered=ordered, fatal=fatal)
        yield from _in_order(arrived) if ordered else arrived
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            cancel.set()
        raise
    finally:
        crew.dismiss()


def _arrivals(
    items: Iterable[Item], crew: _Crew[Item, Value], width: Width, *, ordered: bool, fatal: tuple[type[BaseException], ...]
) -> Iterator[Result[Item, Value]]:
    source = enumerate(items)
    behind: set[int] = set()
    drawn = 0
    more = True
    while more or crew.under_way:
        while more and crew.under_way < width() + 1 and not (ordered and _too_far(behind, drawn, width)):
            piece = next(source, None)
            if piece is None:
                more = False
                break
            drawn += 1
            behind.add(piece[0])
            crew.give(piece, width())
        if not crew.under_way:
            continue
        result = crew.take()
        behind.discard(result.index)
        yield result
        if isinstance(result.error, fatal):
            yield from crew.drain()
            raise result.error


def _too_far(behind: set[int], drawn: int, width: Width) -> bool:
    """When order matters, one slow item must not let the results behind it pile up."""
    return bool(behind) and drawn - min(behind) >= _WINDOW * max(width(), 4)


def _in_order(arrived: Iterator[Result[Item, Value]]) -> Iterator[Result[Item, Value]]:
    waiting: dict[int, Result[Item, Value]] = {}
    due = 0
    try:
        for result in arrived:
            waiting[result.index] = result
            while due in waiting:
                yield waiting.pop(due)
                due += 1
    except FATAL:
        for index in sorted(waiting):
            yield waiting[index]
        raise


class _Crew(Generic[Item, Value]):
    """The threads. Daemons, so that nothing stuck in a read can hold the end of the program."""

    def __init__(self, work: Callable[[Item], Value], cancel: threading.Event) -> None:
        self._work = work
        self._cancel = cancel
        self._over = threading.Event()
        self._tasks: queue.SimpleQueue[tuple[int, Item] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Result[Item, Value]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self.under_way = 0

    def give(self, piece: tuple[int, Item], width: int) -> None:
        """Hand out one item, with another thread if fewer than `width` are there and none is idle."""
        if self._cancel.is_set():
            raise Cancelled
        self.under_way += 1
        self._tasks.put(piece)
        if len(self._threads) < min(width, self.under_way):
            thread = threading.Thread(target=self._serve, name=f"benchloop-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def take(self) -> Result[Item, Value]:
        """The next result; raises `Cancelled` soon after a cancel."""
        while True:
            result = self._next()
            if result is not None:
                return result
            if self._cancel.is_set():
                raise Cancelled

    def _next(self) -> Result[Item, Value] | None:
        try:
            result = self._results.get(timeout=_TICK)
        except queue.Empty:
            return None
        self.under_way -= 1
        return result

    def drain(self) -> Iterator[Result[Item, Value]]:
        """The results of what was begun already; what was only handed out is dropped."""
        self._over.set()
        deadline = time.monotonic() + _DRAIN
        while self.under_way and time.monotonic() < deadline:
            try:
                self.under_way -= self._tasks.get_nowait() is not None
            except queue.Empty:
                result = self._next()
                if result is not None and not isinstance(result.error, Cancelled):
                    yield result

    def dismiss(self) -> None:
        """Let the threads end; those that work get a moment to clean up after themselves."""
        self._over.set()
        for _ in self._threads:
            self._tasks.put(None)
        deadline = time.monotonic() + _GRACE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _serve(self) -> None:
        while (piece := self._tasks.get()) is not None:
            if self._over.is_set() or self._cancel.is_set():
                self._results.put(Result(*piece, error=Cancelled()))
                continue
            try:
                result: Result[Item, Value] = Result(*piece, value=self._work(piece[1]))
            except Exception as error:  # noqa: BLE001 (whatever it is, it is this item's result)
                result = Result(*piece, error=error)
            self._results.put(result)
