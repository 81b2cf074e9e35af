"""A body made of pieces whose lengths are known before the first byte: literal text between stored blobs, sent as frames or decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from benchloop_client.contract.compression import BadFrames, decode, frame
from benchloop_server.kit.verified import Place

#: Small pieces are joined until a chunk has this many bytes, so that a body of many small jobs does not go out in as many writes.
CHUNK = 1 << 18
_RAW_LIMIT = 255
#: Magic number; a single segment whose content size is one byte, without checksum or dictionary.
_RAW_HEAD = b"\x28\xb5\x2f\xfd\x20"


@dataclass(frozen=True, slots=True)
class Literal:
    """Text of our own between blobs; `stored` is the same as one frame."""

    plain: bytes
    stored: bytes

    @property
    def lengths(self) -> tuple[int, int]:
        """(plain, stored) bytes."""
        return len(self.plain), len(self.stored)


@dataclass(frozen=True, slots=True)
class Frames:
    """Stored zstd frames: where they are, and how many bytes they decode to."""

    place: Place
    plain_length: int

    @property
    def lengths(self) -> tuple[int, int]:
        """(plain, stored) bytes."""
        return self.plain_length, self.place.length


Segment: TypeAlias = "Literal | Frames"


#: Reads a whole place in chunks, and raises instead of giving the last chunk when the bytes are not what was stored.
Reader: TypeAlias = Callable[[Place], Iterator[bytes]]


def literal(plain: bytes) -> Literal:
    """A piece of our own text, as a frame of one raw block where it is short: its length is known without compressing anything."""
    if len(plain) > _RAW_LIMIT:
        return Literal(plain, frame(plain))
    return Literal(plain, _RAW_HEAD + bytes([len(plain)]) + (len(plain) << 3 | 1).to_bytes(3, "little") + plain)


def total(segments: Iterable[Segment]) -> tuple[int, int]:
    """(plain, stored) bytes of all segments together."""
    plain = stored = 0
    for segment in segments:
        lengths = segment.lengths
        plain += lengths[0]
        stored += lengths[1]
    return plain, stored


def stored_body(segments: Iterable[Segment], read: Reader) -> Iterator[bytes]:
    """The body as zstd: literal frames and blobs as they are, nothing decoded. Constant memory."""
    for segment in segments:
        if isinstance(segment, Literal):
            yield segment.stored
        else:
            yield from read(segment.place)


def plain_body(segments: Iterable[Segment], read: Reader) -> Iterator[bytes]:
    """The body decoded while it is streamed. Constant memory. Raises `BadFrames` when a blob does not decode to its length."""
    for segment in segments:
        if isinstance(segment, Literal):
            yield segment.plain
        else:
            yield from _decoded(segment, read)


def chunked(pieces: Iterable[bytes], size: int = CHUNK) -> Iterator[bytes]:
    """The same bytes in chunks of at least `size` bytes (but the last)."""
    waiting: list[bytes] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= size:
            yield waiting[0] if len(waiting) == 1 else b"".join(waiting)
            waiting, length = [], 0
    if length:
        yield b"".join(waiting)


def locate(segments: Iterable[Segment], offset: int) -> tuple[int, int] | None:
    """(number of the segment, offset in it) of byte `offset` of the stored body; None at or beyond its end."""
    for number, segment in enumerate(segments):
        length = segment.lengths[1]
        if offset < length:
            return number, offset
        offset -= length
    return None


def _decoded(frames: Frames, read: Reader) -> Iterator[bytes]:
    missing = frames.plain_length
    for chunk in decode(read(frames.place), limit=frames.plain_length):
        missing -= len(chunk)
        yield chunk
    if missing:
        raise BadFrames(f"what is stored at {frames.place} decodes to {missing} bytes less than it should")
