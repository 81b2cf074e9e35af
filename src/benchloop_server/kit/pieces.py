"""A body made of pieces, streamed: neighbours in one blob are read in one go; each stored place is verified before its last bytes go."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from benchloop_client.contract.compression import BadFrames, decode
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.frame_walk import FrameWalk
from benchloop_server.kit.segments import Frames
from benchloop_server.kit.verified import Place, damaged, read_part, read_raw

#: Small pieces are joined until a chunk has this many bytes, so that a body of many small jobs does not go out in as many writes.
CHUNK = 1 << 18
#: Places of one blob are read in one go while they span at most this many bytes, with at most that many of others between two of them.
_SPAN = 8 << 20
_GAP = 1 << 17
_PIECES = 4096


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes `start` to `stop` (not included) of a place, or of what frames decode to."""

    whole: Place | Frames
    start: int
    stop: int


#: Bytes of our own; a place as it is stored; frames, which are decoded; a part of one of the two.
Piece: TypeAlias = "bytes | Place | Frames | Part"
#: Reads bytes `start` to `stop` of a place, verified.
PartReader: TypeAlias = "Callable[[BlobStore, Place, int, int], Iterator[bytes]]"
_Buffer: TypeAlias = "bytes | memoryview"


def length_of(piece: Piece) -> int:
    """How many bytes of the body the piece is."""
    if isinstance(piece, bytes):
        return len(piece)
    if isinstance(piece, Place):
        return piece.length
    return piece.plain_length if isinstance(piece, Frames) else piece.stop - piece.start


def cut(pieces: Iterable[bytes | Place | Frames], start: int, stop: int) -> Iterator[Piece]:
    """The pieces of bytes `start` to `stop` (not included) of a body."""
    at = 0
    for piece in pieces:
        if at >= stop:
            return
        length = length_of(piece)
        first, last = max(start - at, 0), min(stop - at, length)
        at += length
        if first >= length:
            continue
        if (first, last) == (0, length):
            yield piece
        else:
            yield piece[first:last] if isinstance(piece, bytes) else Part(piece, first, last)


def _part(blobs: BlobStore, place: Place, start: int, stop: int) -> Iterator[bytes]:
    return read_part(blobs, place, start=start, stop=stop)


def stream(pieces: Iterable[Piece], blobs: BlobStore, *, part: PartReader = _part) -> Iterator[bytes]:
    """The body in chunks of about `CHUNK` bytes or more, in constant memory. Raises `DamagedBlob` before the last bytes of a place that is
    not what was stored, `BadFrames` when one does not decode to its length.
    """
    return joined(_buffers(pieces, blobs, part))


def joined(buffers: Iterable[_Buffer], size: int = CHUNK) -> Iterator[bytes]:
    """The same bytes in chunks of at least `size` bytes (but the last)."""
    waiting: list[_Buffer] = []
    length = 0
    for buffer in buffers:
        waiting.append(buffer)
        length += len(buffer)
        if length >= size:
            yield _join(waiting)
            waiting, length = [], 0
    if length:
        yield _join(waiting)


def slices(chunks: Iterable[bytes], start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of all chunks together, in chunks that are not empty."""
    at = 0
    for chunk in chunks:
        if at >= stop:
            return
        wanted = chunk[max(start - at, 0) : max(stop - at, 0)]
        at += len(chunk)
        if wanted:
            yield wanted


def _join(buffers: list[_Buffer]) -> bytes:
    only = buffers[0]
    return only if len(buffers) == 1 and isinstance(only, bytes) else b"".join(buffers)


def _buffers(pieces: Iterable[Piece], blobs: BlobStore, part: PartReader) -> Iterator[_Buffer]:
    for run in _runs(pieces):
        window = _Window(blobs, run)
        for piece in run.pieces:
            if isinstance(piece, bytes):
                yield piece
            elif isinstance(piece, Place):
                yield from window.read(piece)
            elif isinstance(piece, Frames):
                yield from _decoded(piece, window.read(piece.place))
            elif isinstance(piece.whole, Place):
                yield from part(blobs, piece.whole, piece.start, piece.stop)
            else:
                yield from _decoded_part(piece, window.read(piece.whole.place))


@dataclass(slots=True)
class _Run:
    """Pieces whose places follow one another in one blob: bytes `start` to `stop` of it."""

    blob: str = ""
    start: int = 0
    stop: int = 0
    pieces: list[Piece] = field(default_factory=list)

    def takes(self, place: Place) -> bool:
        if not self.blob:
            self.blob, self.start, self.stop = place.blob, place.offset, place.offset + place.length
            return True
        end = place.offset + place.length
        if place.blob != self.blob or not self.stop <= place.offset <= self.stop + _GAP or end - self.start > _SPAN:
            return False
        self.stop = end
        return True


def _runs(pieces: Iterable[Piece]) -> Iterator[_Run]:
    run = _Run()
    for piece in pieces:
        place = _read_in_order(piece)
        if len(run.pieces) >= _PIECES or (place is not None and not run.takes(place)):
            yield run
            run = _Run()
            if place is not None:
                run.takes(place)
        run.pieces.append(piece)
    yield run


def _read_in_order(piece: Piece) -> Place | None:
    """The place that the window has to give for this piece."""
    if isinstance(piece, bytes):
        return None
    if isinstance(piece, Place):
        return piece
    if isinstance(piece, Frames):
        return piece.place
    return piece.whole.place if isinstance(piece.whole, Frames) else None


class _Window:
    """Reads through the bytes of a run once; places are asked for in the order in which they lie there."""

    def __init__(self, blobs: BlobStore, run: _Run) -> None:
        self._chunks = read_raw(blobs, run.blob, start=run.start, stop=run.stop)
        self._chunk = memoryview(b"")
        self._at = run.start  # where the chunk begins in the blob

    def read(self, place: Place) -> Iterator[_Buffer]:
        """All bytes of the place; the last ones only once its digest is right."""
        start = place.offset - self._at
        stop = start + place.length
        if stop > len(self._chunk):
            yield from self._across(place)
            return
        view = self._chunk[start:stop]
        if hashlib.sha256(view).hexdigest() != place.sha256:
            raise _wrong(place)
        yield view

    def _across(self, place: Place) -> Iterator[_Buffer]:
        digest = hashlib.sha256()
        held: _Buffer | None = None
        left = place.length
        while left:
            while place.offset + place.length - left >= self._at + len(self._chunk):
                self._advance()
            start = place.offset + place.length - left - self._at
            view = self._chunk[start : start + left]
            digest.update(view)
            left -= len(view)
            if held is not None:
                yield held
            held = view
        if digest.hexdigest() != place.sha256:
            raise _wrong(place)
        if held is not None:
            yield held

    def _advance(self) -> None:
        self._at += len(self._chunk)
        self._chunk = memoryview(next(self._chunks))


def _wrong(place: Place) -> Exception:
    return damaged(place.blob, f"does not have the bytes that were stored at {place.offset}")


def _decoded(frames: Frames, stored: Iterator[_Buffer]) -> Iterator[bytes]:
    missing = frames.plain_length
    for chunk in decode(stored, limit=frames.plain_length):  # type: ignore[arg-type]  # it takes any buffer
        missing -= len(chunk)
        yield chunk
    if missing:
        raise BadFrames(f"what is stored at {frames.place} decodes to {missing} bytes less than it should")


def _decoded_part(part: Part, stored: Iterator[_Buffer]) -> Iterator[bytes]:
    """Decodes only the frames that the part lies in; its last bytes wait until everything that is stored was read and is right."""
    walk = FrameWalk(part.start, part.stop)
    held: bytes | None = None
    passed = 0
    for chunk in decode(walk.needed(stored)):
        at = walk.first + passed
        passed += len(chunk)
        if held is not None:
            yield held
        held = chunk[max(part.start - at, 0) : max(part.stop - at, 0)]
    if walk.first + passed < part.stop:
        raise BadFrames(f"what is stored at {part.whole} decodes to fewer bytes than it should")
    if held is not None:
        yield held
