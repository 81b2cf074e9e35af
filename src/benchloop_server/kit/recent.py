"""What was worked out a moment ago and is wanted again: kept for a while within bounds, and worked out once for all who ask meanwhile."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept:
    value: Any
    weight: int
    since: float


class Recent:
    """Values by key, of at most `weight` together, each for at most `seconds`. Safe between threads.

    A key has to name the version of what the value is made from: nothing here notices that it changed.
    """

    def __init__(self, *, weight: int = 64 << 20, seconds: float = 300, clock: Callable[[], float] = time.monotonic) -> None:
        self._weight, self._seconds, self._clock = weight, seconds, clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], T], *, weight: Callable[[T], int]) -> T:
        """The value under `key`, made now unless it is there. What `make` raises is raised, and nothing is kept."""
        with self._lock:
            found = self._find(key)
            gate = self._making.setdefault(key, threading.Lock()) if found is None else None
        if gate is None:
            return found.value  # type: ignore[union-attr, no-any-return]
        with gate:
            with self._lock:
                found = self._find(key)
            if found is not None:
                return found.value  # type: ignore[no-any-return]
            try:
                value = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            self._keep(key, value, weight(value))
            return value

    def forget(self, key: Hashable) -> None:
        """Make it anew for whoever asks next."""
        with self._lock:
            self._kept.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()

    def _find(self, key: Hashable) -> _Kept | None:
        found = self._kept.get(key)
        if found is None or self._clock() - found.since > self._seconds:
            return None
        self._kept.move_to_end(key)
        return found

    def _keep(self, key: Hashable, value: Any, weight: int) -> None:
        now = self._clock()
        with self._lock:
            self._kept[key] = _Kept(value, weight, now)
            old = [each for each, kept in self._kept.items() if now - kept.since > self._seconds]
            for each in old:
                del self._kept[each]
            while self._kept and sum(kept.weight for kept in self._kept.values()) > self._weight:
                self._kept.popitem(last=False)
