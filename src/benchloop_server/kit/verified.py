"""Reading what is stored so that damage shows: what is handed out as complete has the digest it was stored under."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import structlog

from benchloop_server.kit.blobs import BlobMissing, BlobStore

_log = structlog.get_logger("benchloop_server.blobs")


class Place(NamedTuple):
    """Where something is stored: `length` bytes at `offset` of blob `blob`, and their SHA-256 (hex). A tuple, because bodies of many jobs
    make a hundred thousand of them.
    """

    blob: str
    offset: int
    length: int
    sha256: str


class DamagedBlob(Exception):
    """A blob that is missing or not what was stored. `sha256` names it."""

    def __init__(self, sha256: str, why: str) -> None:
        super().__init__(f"blob {sha256} {why}")
        self.sha256 = sha256


def damaged(sha256: str, why: str) -> DamagedBlob:
    """The exception, after the log has been told."""
    _log.error("blob_damaged", blob=sha256, why=why)
    return DamagedBlob(sha256, why)


def read_whole(blobs: BlobStore, place: Place) -> Iterator[bytes]:
    """All bytes of a place. The last chunk is held back until length and digest are right; raises `DamagedBlob` instead of giving it."""
    digest = hashlib.sha256()
    held: bytes | None = None
    for chunk in _read(blobs, place, 0, place.length):
        digest.update(chunk)
        if held is not None:
            yield held
        held = chunk
    if digest.hexdigest() != place.sha256:
        raise damaged(place.blob, f"does not have the bytes that were stored at {place.offset}")
    if held is not None:
        yield held


def read_part(blobs: BlobStore, place: Place, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of a place; all of it is read, and the last part waits for the digest."""
    held: bytes | None = None
    at = 0
    for chunk in read_whole(blobs, place):
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
    """The digests (SHA-256, hex) of every `size` bytes of a place, the last block being what is left."""

    size: int
    digests: Sequence[str]


def read_blocks(blobs: BlobStore, place: Place, blocks: Blocks, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of a place. Only the blocks they lie in are read; each is verified before it is given."""
    if start >= stop:
        return
    number = start // blocks.size
    at = number * blocks.size
    end = min(-(-stop // blocks.size) * blocks.size, place.length)
    for block in _sized(_read(blobs, place, at, end), blocks.size):
        if hashlib.sha256(block).hexdigest() != blocks.digests[number]:
            raise damaged(place.blob, f"does not have the bytes that were stored, in block {number}")
        yield block[max(start - at, 0) : max(stop - at, 0)]
        number, at = number + 1, at + len(block)


def _sized(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    waiting = bytearray()
    for chunk in chunks:
        waiting += chunk
        while len(waiting) >= size:
            yield bytes(waiting[:size])
            del waiting[:size]
    if waiting:
        yield bytes(waiting)


def read_raw(blobs: BlobStore, blob: str, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of a blob in chunks, unverified: exactly as many as that, else `DamagedBlob` is raised."""
    taken = 0
    try:
        for chunk in blobs.read(blob, offset=start, length=stop - start):
            taken += len(chunk)
            yield chunk
    except BlobMissing as error:
        raise damaged(blob, "is missing from the store") from error
    except (OSError, ValueError) as error:
        raise damaged(blob, f"cannot be read: {error}") from error
    if taken != stop - start:
        raise damaged(blob, f"gave {taken} bytes instead of {stop - start}")


def _read(blobs: BlobStore, place: Place, start: int, stop: int) -> Iterator[bytes]:
    return read_raw(blobs, place.blob, start=place.offset + start, stop=place.offset + stop)
