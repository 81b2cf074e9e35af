"""A body made of pieces whose lengths are known before the first byte: literal text between stored blobs, sent as frames or decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from benchloop_client.contract.compression import frame
from benchloop_server.kit.verified import Place

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


def stored_form(segments: Iterable[Segment]) -> Iterator[bytes | Place]:
    """The body as zstd, as pieces: literal frames and blobs as they are, nothing decoded."""
    for segment in segments:
        yield segment.stored if isinstance(segment, Literal) else segment.place


def plain_form(segments: Iterable[Segment]) -> Iterator[bytes | Frames]:
    """The body decoded, as pieces."""
    for segment in segments:
        yield segment.plain if isinstance(segment, Literal) else segment
