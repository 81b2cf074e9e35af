"""The packed bytes of many items: the first few in memory, all others in one temporary file, so that neither memory nor open files grow
with their number.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import IO

_CHUNK = 1 << 18
#: So much is held in memory.
_HELD = 4 << 20


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes in a spool: `held`, or in its file from `offset` on."""

    offset: int
    length: int
    held: bytes | None = None


class Spool:
    """A context manager; safe between threads."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `__exit__`
        self._lock = threading.Lock()
        self._end = self._held = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, data: bytes) -> Slice:
        """Keep bytes."""
        with self._lock:
            if self._held + len(data) <= _HELD:
                self._held += len(data)
                return Slice(0, len(data), data)
            self._file.seek(self._end)
            self._file.write(data)
            place = Slice(self._end, len(data))
            self._end += len(data)
        return place

    def take(self, source: IO[bytes]) -> Slice:
        """Keep all of a file, from its beginning."""
        if isinstance(source, BytesIO):
            return self.add(source.getvalue())
        source.seek(0)
        with self._lock:
            start = self._end
            self._file.seek(start)
            while chunk := source.read(_CHUNK):
                self._file.write(chunk)
                self._end += len(chunk)
            return Slice(start, self._end - start)

    def read(self, place: Slice) -> Iterator[bytes]:
        """The bytes of a slice, in pieces."""
        if place.held is not None:
            yield place.held
            return
        offset, left = place.offset, place.length
        while left:
            with self._lock:
                self._file.seek(offset)
                chunk = self._file.read(min(left, _CHUNK))
            if not chunk:
                raise EOFError("the temporary file became shorter")
            yield chunk
            offset, left = offset + len(chunk), left - len(chunk)
