"""When keys were last used: noted in memory on each request, and handed over now and then to be written down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: How long a use may stay unwritten while the process lives.
SECONDS = 60.0


class Uses:
    """Key id → the last use in microseconds. Safe between threads. What was not taken when the process ends is forgotten."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._last: dict[str, int] = {}
        self._clock = clock
        self._since: float | None = None

    def note(self, key_id: str, at: int) -> bool:
        """Note a use; True when it is time to write what was noted, for one caller only."""
        with self._lock:
            self._last[key_id] = at
            now = self._clock()
            if self._since is None:
                self._since = now
            if now - self._since < SECONDS:
                return False
            self._since = now
            return True

    def take(self) -> dict[str, int]:
        """All that was noted since the last time."""
        with self._lock:
            taken, self._last = self._last, {}
            return taken
