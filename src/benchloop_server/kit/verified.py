"""Reading blobs so that damage shows: what is handed out as complete has the digest it was stored under."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import structlog

from benchloop_server.kit.blobs import BlobMissing, BlobStore

_log = structlog.get_logger("benchloop_server.blobs")


class DamagedBlob(Exception):
    """A blob that is missing or not what was stored. `sha256` names it."""

    def __init__(self, sha256: str, why: str) -> None:
        super().__init__(f"blob {sha256} {why}")
        self.sha256 = sha256


def damaged(sha256: str, why: str) -> DamagedBlob:
    """The exception, after the log has been told."""
    _log.error("blob_damaged", blob=sha256, why=why)
    return DamagedBlob(sha256, why)


def read_whole(blobs: BlobStore, sha256: str, length: int) -> Iterator[bytes]:
    """All bytes of a blob. The last chunk is held back until length and digest are right; raises `DamagedBlob` in its place."""
    digest, taken = hashlib.sha256(), 0
    held: bytes | None = None
    for chunk in _read(blobs, sha256):
        digest.update(chunk)
        taken += len(chunk)
        if taken > length:
            break
        if held is not None:
            yield held
        held = chunk
    if taken != length:
        raise damaged(sha256, f"does not have the {length} bytes that were stored")
    if digest.hexdigest() != sha256:
        raise damaged(sha256, "does not have the bytes that were stored")
    if held is not None:
        yield held


def read_part(blobs: BlobStore, sha256: str, length: int, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of a blob of `length` bytes; all of it is read, and the last part waits for the digest."""
    held: bytes | None = None
    at = 0
    for chunk in read_whole(blobs, sha256, length):
        part = chunk[max(start - at, 0) : max(stop - at, 0)]
        at += len(chunk)
        if part:
            if held is not None:
                yield held
            held = part
    if held is not None:
        yield held


@dataclass(frozen=True, slots=True)
class Blocks:
    """The digests (SHA-256, hex) of every `size` bytes of a blob of `length` bytes, the last block being what is left."""

    length: int
    size: int
    digests: Sequence[str]


def read_blocks(blobs: BlobStore, sha256: str, blocks: Blocks, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of a blob. Only the blocks they lie in are read, each is verified before it is given."""
    if start >= stop:
        return
    first = start // blocks.size
    number, offset = first, first * blocks.size
    end = min(-(-stop // blocks.size) * blocks.size, blocks.length)
    for block in _sized(_read(blobs, sha256, offset=offset, length=end - offset), blocks.size):
        if hashlib.sha256(block).hexdigest() != blocks.digests[number]:
            raise damaged(sha256, f"does not have the bytes that were stored, in block {number}")
        yield block[max(start - offset, 0) : max(stop - offset, 0)]
        number, offset = number + 1, offset + len(block)


def read_small(blobs: BlobStore, sha256: str) -> bytes:
    """All bytes of a small blob whose length is not recorded, verified."""
    data = b"".join(_read(blobs, sha256))
    if hashlib.sha256(data).hexdigest() != sha256:
        raise damaged(sha256, "does not have the bytes that were stored")
    return data


def _sized(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    waiting = bytearray()
    for chunk in chunks:
        waiting += chunk
        while len(waiting) >= size:
            yield bytes(waiting[:size])
            del waiting[:size]
    if waiting:
        yield bytes(waiting)


def _read(blobs: BlobStore, sha256: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
    try:
        yield from blobs.read(sha256, offset=offset, length=length)
    except BlobMissing as error:
        raise damaged(sha256, "is missing from the store") from error
    except (OSError, ValueError) as error:
        raise damaged(sha256, f"cannot be read: {error}") from error
