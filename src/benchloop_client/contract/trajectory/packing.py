"""A document compressed for the way to the server in the frames in which it will be stored, so that it is compressed once."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from benchloop_client.contract.compression import frame
from benchloop_client.contract.trajectory.document import split

#: Aim for the plain length of one frame, bytes; a single longer step makes a longer frame.
FRAME_PLAIN = 1 << 18
#: What a document begins with; alone in its frame, because what is stored lacks it.
OPENING = b"{"
#: Finding the steps of a document takes several times its size in memory: larger ones leave as one frame.
_LARGEST = 4 << 20
_OPENING_FRAME = frame(OPENING)


def packed(document: bytes) -> bytes:
    """The document as zstd."""
    if len(document) > _LARGEST:
        return frame(document)
    return _OPENING_FRAME + b"".join(frame(part) for part in _parts(document))


def starts_frame(held: int, step: int, aim: int = FRAME_PLAIN) -> bool:
    """Whether a step of `step` bytes begins a new frame where the present one holds `held` bytes."""
    return held > 0 and held + step > aim


def _parts(document: bytes) -> Iterator[bytes]:
    if len(document) <= FRAME_PLAIN:
        yield document[len(OPENING) :]
        return
    head, steps, tail = split(msgspec.json.decode(document))
    part = bytearray(head[len(OPENING) :])
    for number, step in enumerate(steps):
        if starts_frame(len(part), len(step)):
            yield bytes(part)
            part.clear()
        part += b"," if number else b""
        part += step
    yield bytes(part + tail)
