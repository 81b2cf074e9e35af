"""How many requests one server gets at once, and when none: one gate for everything a client asks of it, that adapts to what it bears."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from benchloop_client._retry import LONGEST_ASKED_PAUSE, Stop, pause_of
from benchloop_client.errors import HostBusy

#: Requests at once to begin with, and at most, where nobody named a number.
START, CEILING = 8, 64
#: Answers count as equally fast up to this factor of the fastest window seen, and two milliseconds more.
_FLAT, _SLACK = 1.4, 0.002
#: From this factor on they are slow. The fastest window is forgotten bit by bit.
_SLOW, _FORGETS = 1.8, 1.001
#: A width at which answers became slow is not tried again for so many windows.
_AVOID = 20
_TICK = 0.1
#: After a server was given up, nothing is sent to it for so many seconds.
_GIVEN_UP = 60.0
#: Refusals that are further apart than this, in seconds, say nothing about the time between.
_LULL = 2 * LONGEST_ASKED_PAUSE


class Gate:
    """Requests `enter` before they are sent and `leave` when the head of the answer is in (or none comes). Safe between threads.

    `width` starts at 8 and doubles while answers stay as fast, up to `ceiling`; once they were slow or refused, it grows by an eighth. It
    is halved when the server asks for fewer requests or does not answer in time. After a refusal nothing is sent for the pause the server
    asked for, then a single request until one is answered: whoever waits here does not use up retries of its own. A server that refuses
    everything for `patience` seconds (None: for ever) is given up: whoever waits, or comes within the next minute, gets `HostBusy`.
    """

    def __init__(
        self,
        stop: Stop,
        ceiling: int | None = None,
        *,
        host: str = "the server",
        patience: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stop = stop
        self._now = now
        self._host, self._patience = host, patience
        #: Since when there have been nothing but refusals, and until when nothing is tried after that was too long.
        self._refusing_since: float | None = None
        self._given_up_until = 0.0
        self._ceiling = max(1, ceiling or CEILING)
        self._width = min(START, self._ceiling)
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._in_flight = 0
        self._closed_until = 0.0
        self._refused_at = 0.0
        self._probing = False
        self._careful = False
        # Refusals one after another without an answer in between.
        self._level = 0
        self._window = _Window()

    @property
    def width(self) -> int:
        """How many requests may be under way at once."""
        return self._width

    def enter(self) -> float:
        """Return, once a request may be sent, the time by which `leave` and `refused` know it. Raises what `Stop.check` raises, and
        `HostBusy`.
        """
        self._check()
        with self._lock:
            if not self._waiting and self._free():
                self._in_flight += 1
                return self._now()
            mine = threading.Event()
            self._waiting.append(mine)
        try:
            while not self._turn(mine):
                mine.wait(min(_TICK, max(self._closed_until - self._now(), 0.001) if self._waiting[0] is mine else _TICK))
                mine.clear()
                self._check()
        except BaseException:
            with self._lock:
                self._waiting.remove(mine)
                self._wake()
            raise
        return self._now()

    def leave(self, began: float, *, answered: bool, seconds: float | None = None) -> None:
        """A request that entered at `began` is over; `answered`: with something else than a refusal. `seconds`: how long the answer
        took, where that tells about the server.
        """
        with self._lock:
            self._window.most = max(self._window.most, self._in_flight)
            self._in_flight -= 1
            if answered:
                self._refusing_since = None
                self._level = 0
                self._probing = False
                if seconds is not None:
                    self._note(seconds)
            self._wake()

    def refused(self, began: float, after: float | None = None) -> bool:
        """The server asked for fewer requests, and for a pause of `after` seconds. True if this is news; False for a request that was sent
        before the last such answer came: it is another sign of the same.
        """
        with self._lock:
            self._lose_patience(began)
            news = began >= self._refused_at
            if news:
                self._refused_at = self._now()
                self._level += 1
                self._probing = True
                self._halve()
            if news or after is not None:
                self._closed_until = max(self._closed_until, self._now() + pause_of(after, self._level))
            return news

    def slowed(self, began: float) -> None:
        """The server did not answer in time."""
        with self._lock:
            if began >= self._refused_at:
                self._refused_at = self._now()
                self._halve()

    def _check(self) -> None:
        self._stop.check()
        if self._now() < self._given_up_until:
            raise HostBusy(
                f"{self._host} has answered nothing but 429 or 503 for {self._patience:g} s, so the rest was not tried: "
                "it is overloaded, closed, or has had enough of this key; come back later, or with a smaller --concurrency"
            )

    def _lose_patience(self, began: float) -> None:
        now = self._now()
        if self._refusing_since is None or began - self._refused_at > _LULL:
            self._refusing_since = began
        elif self._patience is not None and now - self._refusing_since >= self._patience:
            self._refusing_since, self._given_up_until = None, now + _GIVEN_UP

    def _free(self) -> bool:
        return self._in_flight < (1 if self._probing else self._width) and self._now() >= self._closed_until

    def _turn(self, mine: threading.Event) -> bool:
        with self._lock:
            if self._waiting[0] is not mine or not self._free():
                return False
            self._waiting.popleft()
            self._in_flight += 1
            self._wake()
            return True

    def _wake(self) -> None:
        if self._waiting:
            self._waiting[0].set()

    def _halve(self) -> None:
        self._careful = True
        self._width = max(1, self._width // 2)
        self._window.restart()

    def _note(self, seconds: float) -> None:
        window = self._window
        window.count += 1
        window.total += seconds
        if window.count < self._width:
            return
        full, mean = window.most >= self._width, window.total / window.count
        window.restart()
        window.past += 1
        if not full:
            return
        if mean <= window.fastest * _FLAT + _SLACK:
            self._grow()
        elif mean > window.fastest * _SLOW and self._width > START:
            window.slow_at, window.past, self._careful = self._width, 0, True
            self._width = max(START, self._width // 2)
        window.fastest = min(mean, window.fastest * _FORGETS)

    def _grow(self) -> None:
        wider = self._width + max(1, self._width // 8) if self._careful else self._width * 2
        if self._window.past < _AVOID and wider >= self._window.slow_at:
            return
        self._width = min(self._ceiling, wider)


class _Window:
    """The answers since `width` last changed."""

    def __init__(self) -> None:
        self.count = self.most = 0
        self.total = 0.0
        self.fastest = float("inf")
        self.slow_at, self.past = 1 << 30, 0

    def restart(self) -> None:
        """Begin a new one."""
        self.count = self.most = 0
        self.total = 0.0
