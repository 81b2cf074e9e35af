"""What a progress line is made of: counters, files under way, the rate of bytes, and how numbers of them are written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_BAR = 20
_NAME = 32
#: Seconds over which the rate is taken, so that it stays readable.
_WINDOW = 8.0
_LEAST = 1e-6
#: Where it cannot be told how long something takes.
NO_TIME = "--:--"


@dataclass
class Counter:
    """Things dealt with since `began`: `done` of `total` (None: not known)."""

    label: str
    unit: str
    total: int | None
    began: float
    done: int = 0

    @property
    def ended(self) -> bool:
        """Everything was dealt with."""
        return self.total is not None and self.done >= self.total

    @property
    def share(self) -> float | None:
        """Which part of it is done, 0 to 1; None where that is not known."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def counts(self) -> str:
        """`3/10 jobs`."""
        return f"{self.done}/{'?' if self.total is None else self.total} {self.unit}"

    def share_with(self, inner: Counter) -> float | None:
        """The share of this counter when `inner` counts inside the step that is under way."""
        return min(1.0, (self.done + (inner.share or 0.0)) / self.total) if self.total else inner.share

    def times(self, now: float) -> str:
        """`, elapsed=…` and where it can be told `, eta=…`."""
        elapsed = now - self.began
        if not self.total or not self.done:
            return f", elapsed={duration(elapsed)}"
        return f", elapsed={duration(elapsed)}, eta={duration(elapsed / self.done * (self.total - self.done))}"


@dataclass
class File:
    """The bytes of one file under way since `began`: `done` of `total` (None: not known)."""

    name: str
    began: float
    done: int = 0
    total: int | None = None

    @property
    def ended(self) -> bool:
        """All of its bytes passed."""
        return self.total is not None and self.done >= self.total

    @property
    def share(self) -> float | None:
        """Which part of it passed, 0 to 1; None where its length is not known."""
        return min(1.0, self.done / self.total) if self.total else None

    def logged(self, now: float) -> str:
        """As a line of a log."""
        known = f"/{size(self.total)}" if self.total else ""
        return f"{shortened(self.name)} {size(self.done)}{known} {self._speed(now)}"

    def numbers(self, now: float) -> str:
        """Bytes, speed and, where the length is known, the time left."""
        if not self.total:
            return f"{size(self.done)} {self._speed(now)}"
        return f"{size(self.done)}/{size(self.total)} {self._speed(now)} eta={self.time_left(now)}"

    def time_left(self, now: float) -> str:
        """How long the rest takes at the speed so far."""
        rate = self.done / max(now - self.began, _LEAST)
        return duration((self.total - self.done) / rate) if self.total and rate else NO_TIME

    def _speed(self, now: float) -> str:
        return f"{size(int(self.done / max(now - self.began, _LEAST)))}/s"


class Rate:
    """Bytes a second over the last moments. `total` counts from the first look."""

    def __init__(self, moved: Callable[[], int]) -> None:
        self._moved = moved
        self._seen: deque[tuple[float, int]] = deque()
        self._from: int | None = None
        self.total = 0

    def look(self, now: float) -> float:
        """Take note of the bytes so far; returns the rate."""
        moved = self._moved()
        if self._from is None:
            self._from = moved
        self.total = moved - self._from
        if not self._seen or now - self._seen[-1][0] >= _WINDOW / 80:
            self._seen.append((now, moved))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW:
            self._seen.popleft()
        began, before = self._seen[0]
        return (moved - before) / max(now - began, _WINDOW / 80)


def bar(share: float | None) -> str:
    """Twenty cells; nothing where the share is not known."""
    if share is None:
        return ""
    filled = int(_BAR * share)
    return f"[{'#' * filled}{'-' * (_BAR - filled)}]"


def duration(seconds: float) -> str:
    """MM:SS, or HH:MM:SS from one hour on."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def size(count: int) -> str:
    """Bytes in decimal units: `B` whole, `kB`, `MB`, `GB` with one decimal."""
    if count < 1000:
        return f"{count} B"
    for unit, limit in (("kB", 1e3), ("MB", 1e6)):
        if count < limit * 1000:
            return f"{count / limit:.1f} {unit}"
    return f"{count / 1e9:.1f} GB"


def shortened(name: str, length: int = _NAME) -> str:
    """The last part of a name that is too long for a line."""
    return name if len(name) <= length else f"…{name[-(length - 1) :]}"
