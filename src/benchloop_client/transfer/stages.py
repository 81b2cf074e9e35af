"""Lets the steps of a long stream overlap: each reads ahead of the next in a thread of its own, never further than a few pieces."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")

#: Pieces that wait between two steps.
DEPTH = 3
#: How long the end of a chain waits for a step that is in the middle of something, in seconds.
_GRACE = 0.6


def ahead(source: Iterable[T], *, depth: int = DEPTH) -> Iterator[T]:
    """What `source` yields, made in a daemon thread up to `depth` pieces ahead. What it raises is raised here, after what came before it. A
    chain is `ahead(step2(ahead(step1(source))))`; when it is left early, each step is closed in its own thread.
    """
    relay: _Relay[T] = _Relay(source, depth)
    thread = threading.Thread(target=relay.run, name="benchloop-ahead", daemon=True)
    thread.start()
    try:
        yield from relay.arrived()
    finally:
        relay.stop()
        thread.join(_GRACE)


def spread(source: Iterable[T], work: Callable[[T], U], *, threads: int) -> Iterator[U]:
    """`work(piece)` of each piece, on several threads, in the order of the pieces; only a few are drawn ahead. For work that ends soon.

    What `source` raises is raised after the results of what came before it.
    """
    pieces = iter(source)
    with ThreadPoolExecutor(threads, "benchloop-spread") as pool:
        waiting: deque[Future[U]] = deque()
        error: Exception | None = None
        try:
            while error is None:
                try:
                    waiting.append(pool.submit(work, next(pieces)))
                except Exception as ended:  # noqa: BLE001 (raised below, after the results of what came before it)
                    error = ended
                while waiting and (error is not None or len(waiting) > 2 * threads):
                    yield waiting.popleft().result()
            if not isinstance(error, StopIteration):
                raise error
        finally:
            for future in waiting:
                future.cancel()


class _End:
    """Stands behind the last piece; `error` is what ended the source."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Relay(Generic[T]):
    """Hands pieces from one thread to another."""

    def __init__(self, source: Iterable[T], depth: int) -> None:
        self._source = source
        self._room = threading.Semaphore(depth)
        self._pieces: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
        self._stopped = False

    def run(self) -> None:
        """Draw from the source until it ends or nobody wants more."""
        error: BaseException | None = None
        source = iter(self._source)
        try:
            for piece in source:
                self._room.acquire()
                if self._stopped:
                    break
                self._pieces.put(piece)
        except BaseException as raised:  # noqa: BLE001 (whatever it is, it is raised where the pieces are taken)
            error = raised
        finally:
            close = getattr(source, "close", None)
            if close is not None:
                close()
            self._pieces.put(_End(error))

    def arrived(self) -> Iterator[T]:
        """The pieces, in order. Raises what the source raised."""
        while True:
            piece = self._pieces.get()
            if isinstance(piece, _End):
                if piece.error is not None:
                    raise piece.error
                return
            self._room.release()
            yield piece

    def stop(self) -> None:
        """Nobody wants more."""
        self._stopped = True
        self._room.release()
