"""Bytes on their way out that are made once and sent, perhaps in parts, afterwards: a file without a name, gone with the last user."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

#: Bytes of one read, and of one write.
_CHUNK = 1 << 19


class Spool:
    """Write everything, then read any part, from any thread. `length` bytes were written so far. Raises `OSError` when the disk is full."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=_CHUNK)  # noqa: SIM115 - it goes with the object  # noqa: SIM115 - it goes with the object
        weakref.finalize(self, self._file.close)
        self.length = 0

    def write(self, data: bytes) -> None:
        """Append."""
        self._file.write(data)
        self.length += len(data)

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """Bytes `start` to `stop` (not included), in chunks."""
        self._file.flush()
        while start < stop:
            chunk = os.pread(self._file.fileno(), min(_CHUNK, stop - start), start)
            if not chunk:
                raise OSError("a spooled body is shorter than what was written")
            start += len(chunk)
            yield chunk
