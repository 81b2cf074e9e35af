"""All bytes on their way to and from servers: counted for whoever shows progress, and held back to a limit that all threads share."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator

#: Seconds of allowance that an idle connection saves up.
_BURST = 0.1
#: Pieces a second into which a limited stream is cut, so that it flows instead of jumping.
_PIECES = 10
_SMALLEST, _LARGEST = 1 << 10, 1 << 18
_RATE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?P<unit>[kmg]?)b?(?:/s)?", re.IGNORECASE)
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


class Traffic:
    """Safe between threads. `limit`: bytes a second in both directions together, None for as fast as it goes."""

    def __init__(
        self, limit: float | None = None, *, clock: Callable[[], float] = time.monotonic, wait: Callable[[float], object] = time.sleep
    ) -> None:
        """`clock` tells seconds, `wait` waits so many of them (or less, when the work is cancelled)."""
        self.limit = limit
        self.received = self.sent = 0
        self._clock, self._wait = clock, wait
        self._lock = threading.Lock()
        self._paid_until = clock() - _BURST

    @property
    def piece(self) -> int:
        """How many bytes to ask for at once."""
        return _LARGEST if self.limit is None else int(min(max(self.limit / _PIECES, _SMALLEST), _LARGEST))

    def took(self, count: int) -> None:
        """`count` bytes arrived; returns when the next may be asked for."""
        self._pass(received=count)

    def sending(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """`chunks` as they may leave; cut into pieces where there is a limit."""
        for chunk in chunks:
            step = self.piece if self.limit is not None else len(chunk) or 1
            for start in range(0, len(chunk), step):
                part = chunk[start : start + step]
                self._pass(sent=len(part))
                yield part

    def _pass(self, *, received: int = 0, sent: int = 0) -> None:
        with self._lock:
            self.received += received
            self.sent += sent
            if self.limit is None:
                return
            now = self._clock()
            self._paid_until = max(self._paid_until, now - _BURST) + (received + sent) / self.limit
            pause = self._paid_until - now
        if pause > 0:
            self._wait(pause)


def parse_rate(text: str) -> float:
    """Bytes a second of `800`, `500k`, `2M` or `1.5G` (decimal units, as sizes are shown). Raises `ValueError` for anything else, and 0."""
    match = _RATE.fullmatch(text.strip())
    rate = float(match["number"]) * _UNITS[match["unit"].lower()] if match else 0.0
    if not rate:
        raise ValueError(f"{text!r} is no rate: bytes a second, such as 800, 500k or 2M")
    return rate
