"""The stored form of a trajectory: its document without the first byte as zstd frames of whole steps, and an index of steps and frames.

The first byte (`{`) is left out so that an export can put a key of its own in front without decoding anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from benchloop_client.contract import trajectory
from benchloop_client.contract.compression import BadFrames, decode, frame
from benchloop_client.contract.trajectory import packing
from benchloop_client.contract.trajectory.packing import FRAME_PLAIN, starts_frame
from benchloop_server.features.trajectories.received import Received
from benchloop_server.kit.segments import literal

#: What a document begins with and the stored form lacks.
OPENING = packing.OPENING
#: The same as a frame: what comes before the stored frames where a document is sent as zstd.
OPENING_FRAME = literal(OPENING).stored
_PREVIEW = 120


class Frame(msgspec.Struct, frozen=True):
    """One frame: where its plain bytes lie in the stored plain text (the document without its first byte), and its bytes in the blob."""

    plain_offset: int
    plain_length: int
    stored_offset: int
    stored_length: int


class Step(msgspec.Struct, frozen=True):
    """One step as a viewer lists it. `tokens` are prompt + completion tokens, `offset` and `length` are bytes inside the plain frame."""

    step: int
    source: str
    tools: tuple[str, ...]
    tokens: int | None
    time: str | None
    preview: str
    frame: int
    offset: int
    length: int


class Index(msgspec.Struct, frozen=True):
    """What is where in one stored trajectory; kept as its own blob (JSON, one zstd frame)."""

    frames: tuple[Frame, ...]
    steps: tuple[Step, ...]


class Sink(Protocol):
    """Where the frames are written."""

    def write(self, data: bytes, /) -> object:
        """Take the next bytes."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What `store` wrote: `sha256` (hex) and `stored_length` are of the frames, `served_sha256` of the document as zstd, which is one frame
    longer; `plain_length` is of the whole document.
    """

    sha256: str
    served_sha256: str
    stored_length: int
    plain_length: int
    index: Index


def store(document: dict[str, Any], sink: Sink, *, received: Received | None = None, frame_plain: int = FRAME_PLAIN) -> Stored:
    """Write the frames of a strictly valid document to `sink`. A frame always ends at the end of a step or of the document. Those that
    were `received` as they are stored are taken as they are.
    """
    head, steps, tail = trajectory.split(document)
    writer = _Writer(sink, frame_plain, received)
    writer.add(head[len(OPENING) :])
    described: list[Step] = []
    for number, (step, raw) in enumerate(zip(_steps(document), steps, strict=True)):
        at, offset = writer.add_step(b"," if number else b"", raw)
        described.append(_describe(step, number, at, offset, len(raw)))
    writer.add(tail)
    writer.flush()
    index = Index(tuple(writer.frames), tuple(described))
    return Stored(writer.digest.hexdigest(), writer.served.hexdigest(), writer.stored, writer.plain + len(OPENING), index)


def encode_index(index: Index) -> bytes:
    """The index as it is stored."""
    return frame(msgspec.json.encode(index))


def decode_index(raw: bytes) -> Index:
    """The index from its stored form; raises `BadFrames` when it is damaged."""
    try:
        return msgspec.json.decode(b"".join(decode([raw])), type=Index)
    except msgspec.MsgspecError as error:
        raise BadFrames(f"the step index is damaged: {error}") from error


def frames_of(index: Index, first: int, last: int) -> Sequence[Frame]:
    """The frames that hold the steps number `first` to `last` (0-based, both included, clamped to what is there)."""
    steps = index.steps[max(first, 0) : last + 1]
    return index.frames[steps[0].frame : steps[-1].frame + 1] if steps else ()


def plain_steps(index: Index, number: int, plain_frame: bytes) -> Iterator[bytes]:
    """The JSON texts of the steps inside frame `number`, given the frame's plain bytes."""
    for step in index.steps:
        if step.frame == number:
            yield plain_frame[step.offset : step.offset + step.length]


class _Writer:
    """Collects pieces into frames and keeps count of where everything went."""

    def __init__(self, sink: Sink, frame_plain: int, received: Received | None) -> None:
        self._sink, self._target, self._received = sink, frame_plain, received
        self._buffer = bytearray()
        self.frames: list[Frame] = []
        self.plain = self.stored = 0
        self.digest, self.served = hashlib.sha256(), hashlib.sha256(OPENING_FRAME)

    def add(self, piece: bytes) -> None:
        self._buffer += piece

    def add_step(self, separator: bytes, step: bytes) -> tuple[int, int]:
        """Add a step; return the number of its frame and its offset in there."""
        if starts_frame(len(self._buffer), len(step), self._target):
            self.flush()
        self._buffer += separator
        place = len(self.frames), len(self._buffer)
        self._buffer += step
        return place

    def flush(self) -> None:
        if not self._buffer:
            return
        plain = bytes(self._buffer)
        compressed = (self._received and self._received.at(self.plain + len(OPENING), plain)) or frame(plain)
        self.frames.append(Frame(self.plain, len(self._buffer), self.stored, len(compressed)))
        self.plain += len(self._buffer)
        self.stored += len(compressed)
        self.digest.update(compressed)
        self.served.update(compressed)
        self._sink.write(compressed)
        self._buffer.clear()


def _steps(document: dict[str, Any]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = document["steps"]
    return steps


def _describe(step: dict[str, Any], number: int, at: int, offset: int, length: int) -> Step:
    return Step(
        step=int(step.get("step_id") or number + 1),
        source=str(step.get("source", "")),
        tools=tuple(str(call.get("function_name", "")) for call in step.get("tool_calls") or ()),
        tokens=_tokens(step.get("metrics") or {}),
        time=step.get("timestamp"),
        preview=trajectory.step_preview(step)[:_PREVIEW],
        frame=at,
        offset=offset,
        length=length,
    )


def _tokens(metrics: dict[str, Any]) -> int | None:
    known = [metrics[key] for key in ("prompt_tokens", "completion_tokens") if isinstance(metrics.get(key), int)]
    return sum(known) if known else None
