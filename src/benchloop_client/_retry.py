"""When to ask again and how long to wait before: full jitter, a shared pause that the server asks for, and an end when cancelled."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from benchloop_client.errors import BenchloopError, Cancelled

#: Answers that ask for fewer requests; they slow down everyone who talks to this server, not only the one who got them.
CROWDED_STATUSES = frozenset({429, 503})
LONGEST_ASKED_PAUSE = 60.0
LONGEST_PAUSE = 20.0
_FIRST_PAUSE = 0.5


class Retryable(Exception):
    """A failure that may pass: `error` is what the caller sees when it does not. `after`: seconds the server asked for. `crowded`: the
    server wants fewer requests. `unsent`: the request certainly had no effect.
    """

    def __init__(self, error: BenchloopError, *, after: float | None = None, crowded: bool = False, unsent: bool = False) -> None:
        super().__init__(error.message)
        self.error = error
        self.after = after
        self.crowded = crowded
        self.unsent = unsent


class Gate:
    """A pause that all requests to one server share."""

    def __init__(self, cancel: threading.Event) -> None:
        self._cancel = cancel
        self._until = 0.0
        self._lock = threading.Lock()

    def hold(self, seconds: float) -> None:
        """Let no request start for `seconds` from now."""
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def wait(self) -> None:
        """Return once requests may start; raises `Cancelled` as soon as the work is cancelled."""
        while True:
            if self._cancel.is_set():
                raise Cancelled
            left = self._until - time.monotonic()
            if left <= 0:
                return
            self._cancel.wait(left)


class Budget:
    """The attempts of one request: `retry` more after the first."""

    def __init__(self, retry: int, cancel: threading.Event) -> None:
        self._left = retry
        self._cancel = cancel
        self._made = 0

    def spend(self, fault: Retryable) -> float:
        """Use one retry and return the pause before it in seconds; raises the fault's error when none is left."""
        if self._left <= 0:
            raise fault.error from None
        self._left -= 1
        self._made += 1
        if fault.after is not None:
            return min(fault.after, LONGEST_ASKED_PAUSE)
        return random.uniform(0, min(LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._made, 10)))

    def pause(self, fault: Retryable) -> None:
        """Use one retry and sleep before it; raises `Cancelled` when woken by a cancel."""
        if self._cancel.wait(self.spend(fault)):
            raise Cancelled


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """Seconds of a `Retry-After` header (a number or a date), None without a usable one."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
