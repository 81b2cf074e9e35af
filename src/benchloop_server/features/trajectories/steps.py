"""Single steps of a stored trajectory: its index, a window of steps by reading the few frames they lie in, and a walk through it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchloop_client.contract.compression import BadFrames, decode
from benchloop_server.features.trajectories import frames, service
from benchloop_server.features.trajectories.frames import Frame, Index
from benchloop_server.features.trajectories.service import Absent, Stored
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.kit.verified import Place, damaged, read_raw, read_whole

#: A rough weight of one step of an index in memory, bytes.
_STEP_WEIGHT = 500


@dataclass(frozen=True, slots=True)
class Opened:
    """A stored trajectory with the index of its steps."""

    stored: Stored
    index: Index

    def __len__(self) -> int:
        return len(self.index.steps)

    def number_of(self, step_id: int) -> int | None:
        """The place (0-based) of a step by its id; ids usually count from 1."""
        steps = self.index.steps
        if 0 < step_id <= len(steps) and steps[step_id - 1].step == step_id:
            return step_id - 1
        return next((number for number, step in enumerate(steps) if step.step == step_id), None)


def opened(services: Services, principal: Principal, job_id: str) -> Opened | Absent:
    """The job's trajectory, ready to be looked into. Raises `DomainError` (404) for an unknown job."""
    found = service.found(services, principal, job_id)
    if isinstance(found, Absent):
        return found
    key = ("step index", found.index)
    index = services.recent.get(key, lambda: _index(services.blobs, found.index), weight=lambda one: _STEP_WEIGHT * len(one.steps))
    return Opened(found, index)


def read(blobs: BlobStore, one: Opened, first: int, last: int) -> list[bytes]:
    """The JSON texts of the steps number `first` to `last` (0-based, both included, clamped). Only their frames are read."""
    first, last = max(first, 0), min(last, len(one) - 1)
    return [raw for _, raw in walk(blobs, one, first, last)]


def walk(blobs: BlobStore, one: Opened, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """(number, JSON text) of the steps number `first` to `last`, frame by frame: one frame is in memory at a time. Raises `DamagedBlob`."""
    steps = one.index.steps[first : last + 1] if first <= last else ()
    held, plain = -1, b""
    for number, step in enumerate(steps, start=first):
        if step.frame != held:
            held, plain = step.frame, _frame(blobs, one.stored.place, one.index.frames[step.frame])
        yield number, plain[step.offset : step.offset + step.length]


def _frame(blobs: BlobStore, place: Place, frame: Frame) -> bytes:
    """The plain bytes of a frame; the checksum inside tells damage."""
    start = place.offset + frame.stored_offset
    try:
        plain = b"".join(decode(read_raw(blobs, place.blob, start=start, stop=start + frame.stored_length), limit=frame.plain_length))
    except BadFrames as error:
        raise damaged(place.blob, str(error)) from error
    if len(plain) != frame.plain_length:
        raise damaged(place.blob, f"gave {len(plain)} plain bytes instead of {frame.plain_length}")
    return plain


def _index(blobs: BlobStore, place: Place) -> Index:
    try:
        return frames.decode_index(b"".join(read_whole(blobs, place)))
    except BadFrames as error:
        raise damaged(place.blob, str(error)) from error
