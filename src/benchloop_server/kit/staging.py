"""Bytes on their way in: kept in memory while they are few, else in a file of the scratch folder that no crash can leave for good."""

from __future__ import annotations

import fcntl
import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from benchloop_server.kit.blobs import CHUNK, BlobStore

_PREFIX = "staged-"
_IN_MEMORY = 1 << 20


class Staged:
    """A place to write bytes once and then store them as a blob. Use it with `with`: whatever happens, nothing of it stays behind.

    `sha256` (hex) and `size` are of all bytes written so far.
    """

    def __init__(self, folder: Path, *, in_memory: int = _IN_MEMORY) -> None:
        self._folder, self._in_memory = folder, in_memory
        self._buffer = bytearray()
        self._file: IO[bytes] | None = None
        self._path: Path | None = None
        self._digest = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        """Digest of what was written, hex."""
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        """Append."""
        self._digest.update(data)
        self.size += len(data)
        if self._file is None and self.size > self._in_memory:
            self._file = self._open()
            self._file.write(self._buffer)
            self._buffer = bytearray()
        if self._file is None:
            self._buffer += data
        else:
            self._file.write(data)

    def read(self) -> bytes:
        """Everything, in memory."""
        if self._file is None:
            return bytes(self._buffer)
        self._file.seek(0)
        return self._file.read()

    def chunks(self) -> Iterator[bytes]:
        """Everything, in chunks."""
        if self._file is None:
            yield bytes(self._buffer)
            return
        self._file.seek(0)
        while chunk := self._file.read(CHUNK):
            yield chunk

    def store(self, blobs: BlobStore) -> str:
        """Keep the bytes as a blob; returns its name. They are durable when this returns."""
        name = self.sha256
        if self._file is None or self._path is None:
            blobs.put_bytes(name, bytes(self._buffer))
        else:
            self._file.flush()
            blobs.put_file(name, self._path)
        return name

    def close(self) -> None:
        """Forget the bytes; the file is gone."""
        self._buffer = bytearray()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _open(self) -> IO[bytes]:
        self._path = self._folder / f"{_PREFIX}{secrets.token_hex(16)}"
        file = self._path.open("xb+")
        self._path.chmod(0o600)
        # The lock ends with the process, however that ends; `sweep` takes files that nobody holds.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file


def sweep(folder: Path) -> int:
    """Remove the files that processes which are no longer there have left; returns how many. Safe while other processes receive."""
    removed = 0
    for path in folder.glob(f"{_PREFIX}*"):
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
                removed += 1
        except (BlockingIOError, FileNotFoundError):
            continue
    return removed
