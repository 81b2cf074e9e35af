"""When to ask again and how long to wait before: full jitter, a shared pause that the server asks for, and an end when cancelled."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from benchloop_client.errors import BenchloopError, Cancelled, DeadlinePassed

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
        #: Whether a refusal was news to the gate; if not, the request waits there without using up a retry.
        self.news = True


class Stop:
    """When everything ends: `cancel` was set, or `deadline` (seconds from now) has passed."""

    def __init__(self, cancel: threading.Event, deadline: float | None = None) -> None:
        self.cancel = cancel
        self._seconds = deadline
        #: The end by the monotonic clock, None for none.
        self.at = None if deadline is None else time.monotonic() + deadline

    @property
    def come(self) -> bool:
        """Whether the end has come."""
        return self.cancel.is_set() or (self.at is not None and time.monotonic() >= self.at)

    def check(self) -> None:
        """Raise `Cancelled` or `DeadlinePassed` if the end has come."""
        if self.cancel.is_set():
            raise Cancelled
        if self.at is not None and time.monotonic() >= self.at:
            raise DeadlinePassed(f"not done within {self._seconds:g} s")

    def wait(self, seconds: float) -> None:
        """Sleep; raises as `check` does, as soon as that is due."""
        left = seconds if self.at is None else min(seconds, max(0.0, self.at - time.monotonic()))
        self.cancel.wait(left)
        self.check()


class Budget:
    """The attempts of one request: `retry` more after the first."""

    def __init__(self, retry: int, stop: Stop) -> None:
        self._left = retry
        self._stop = stop
        self._made = 0

    def spend(self, fault: Retryable) -> float:
        """Use one retry and return the pause before it in seconds; raises the fault's error when none is left."""
        if self._left <= 0:
            raise fault.error from None
        self._left -= 1
        self._made += 1
        return pause_of(fault.after, self._made)

    def pause(self, fault: Retryable) -> None:
        """Use one retry and sleep before it; raises `Cancelled` or `DeadlinePassed` when woken by that."""
        self._stop.wait(self.spend(fault))


def pause_of(after: float | None, tries: int) -> float:
    """Seconds to wait: what the server asked for, up to a minute, else anything up to a bound that doubles with each try, to 20."""
    if after is not None:
        return min(after, LONGEST_ASKED_PAUSE)
    return random.uniform(0, min(LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(tries, 10)))


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
