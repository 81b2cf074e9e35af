"""Uploads that are whole and are being made durable just now: whoever asks whether they are there waits a moment for the answer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: Workspace, kind and SHA-256 (hex) of an upload.
Key: TypeAlias = tuple[str, str, str]

#: Longest wait, in seconds.
_LONGEST = 5.0


class Ending:
    """Safe between threads; knows of this process only, and of nothing but time is saved by it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._keys: Counter[Key] = Counter()

    @contextmanager
    def of(self, keys: set[Key]) -> Iterator[None]:
        """For as long as the block takes, these are on their way to be there."""
        with self._changed:
            self._keys.update(keys)
        try:
            yield
        finally:
            with self._changed:
                self._keys.subtract(keys)
                self._keys = +self._keys
                self._changed.notify_all()

    def wait(self, keys: set[Key]) -> bool:
        """Until none of these is on its way; False: none was."""
        with self._changed:
            if keys.isdisjoint(self._keys):
                return False
            self._changed.wait_for(lambda: keys.isdisjoint(self._keys), _LONGEST)
            return True
