"""The protocol of a blob store: write-once bytes named by the SHA-256 (hex) of exactly these bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

CHUNK = 1024 * 1024


class BlobMissing(Exception):
    """No blob has this name."""


class BlobStore(Protocol):
    """Bytes by name. A name that was put is durable when the call returns and never changes afterwards. `kind`: a word for people."""

    kind: str

    def put_bytes(self, sha256: str, data: bytes) -> bool:
        """Keep `data`; False when the name is taken already (nothing is written then)."""

    def put_file(self, sha256: str, path: Path) -> bool:
        """Keep the bytes of the file at `path`, which stays where it is; False when the name is taken already."""

    def read(self, sha256: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Chunks from `offset` on, `length` bytes in all (None: to the end). Raises `BlobMissing` before the first chunk; a range that
        does not lie inside the blob raises `ValueError`.
        """

    def size(self, sha256: str) -> int:
        """Length in bytes. Raises `BlobMissing`."""

    def exists(self, sha256: str) -> bool:
        """Whether the name is taken."""

    def aged(self, before: float) -> Iterator[tuple[str, int]]:
        """Name and length of every blob that was stored before that moment (seconds since 1970 UTC); one that comes or goes meanwhile may
        be among them or not.
        """

    def link(self, sha256: str, *, seconds: int) -> str | None:
        """An address from which anybody can GET the blob, or a range of it, for so long; None where the store has none to give."""

    def delete(self, sha256: str) -> None:
        """Forget the name; no error when it is not there."""


def check_range(size: int, *, offset: int, length: int | None) -> int:
    """The number of bytes to read. Raises `ValueError` when the range does not lie inside `size` bytes."""
    wanted = size - offset if length is None else length
    if offset < 0 or wanted < 0 or offset + wanted > size:
        raise ValueError(f"bytes {offset}+{length} do not lie inside a blob of {size} bytes")
    return wanted
