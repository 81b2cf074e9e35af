"""What an export holds, frozen: each job's id and where its document is, in about 150 bytes a job, so that any group fits in memory."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from functools import cached_property

import msgspec

from benchloop_server.features.trajectories.frames import OPENING
from benchloop_server.kit.segments import Frames, Segment, literal
from benchloop_server.kit.verified import Place

_OPENING = literal(OPENING)
_COMMA = literal(b",")
_NEWLINE = literal(b"\n")
_DIGEST = 32


class Plan:
    """The trajectories of one group in the order of the job list. Blobs never change, so what is planned can be sent at any time."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self._ids = bytearray()
        self._ends = array("Q")
        self._digests, self._sources = bytearray(), bytearray()
        self._documents, self._offsets, self._stored, self._packs = array("Q"), array("Q"), array("Q"), array("L")
        self._names: dict[str, int] = {}
        #: Documents that stand for trajectories that were not recorded, and before which of the others each one comes.
        self._absent: list[tuple[int, bytes]] = []

    def add(self, job_id: str, place: Place, *, source: str, document_bytes: int) -> None:
        """The next job: at `place` are the frames of its document without the first byte; `source` (hex) is the upload's name."""
        self._ids += job_id.encode()
        self._ends.append(len(self._ids))
        self._digests += bytes.fromhex(place.sha256)
        self._sources += bytes.fromhex(source)
        self._documents.append(document_bytes)
        self._offsets.append(place.offset)
        self._stored.append(place.length)
        self._packs.append(self._names.setdefault(place.blob, len(self._names)))

    def add_absent(self, document: bytes) -> None:
        """The next job, which has no trajectory: `document` stands for it."""
        self._absent.append((self.recorded, document))

    @property
    def recorded(self) -> int:
        """How many trajectories there are."""
        return len(self._ends)

    @property
    def held(self) -> int:
        """About how many bytes of memory the plan takes."""
        absent = sum(len(document) + 100 for _, document in self._absent)
        return len(self._ids) + self.recorded * (4 * 8 + 8 + 2 * _DIGEST) + absent + 100 * len(self._names)

    @cached_property
    def version(self) -> str:
        """The same for the same content, another for any other."""
        digest = hashlib.sha256(b"%s\0%s\0%s" % (self.group_id.encode(), self._ids, self._ends.tobytes()))
        digest.update(self._digests)
        for number, document in self._absent:
            digest.update(b"\0%d\0%s" % (number, document))
        return digest.hexdigest()[:40]

    def sources(self) -> Iterator[tuple[str, str, int]]:
        """(job id, name of the upload, length of the document) of every trajectory."""
        start = 0
        for number, end in enumerate(self._ends):
            source = self._sources[number * _DIGEST : (number + 1) * _DIGEST].hex()
            yield self._ids[start:end].decode(), source, self._documents[number]
            start = end

    def rows(self) -> Iterator[Segment]:
        """E14: one line a job, the document with `job_id` in front of its own keys. Jobs without a trajectory have no line: their ids
        come with E15.
        """
        for job_id, rest in self._jobs():
            yield literal(b'{"job_id":%s,' % msgspec.json.encode(job_id))
            yield rest
            yield _NEWLINE

    def lines(self) -> Iterator[Segment]:
        """One line a job, the plain document."""
        for document in self._documents_in_order():
            yield from (*document, _NEWLINE)

    def document(self) -> Iterator[Segment]:
        """E11: `{"group_id", "trajectories": [document, …]}`."""
        yield literal(b'{"group_id":%s,"trajectories":[' % msgspec.json.encode(self.group_id))
        for number, document in enumerate(self._documents_in_order()):
            if number:
                yield _COMMA
            yield from document
        yield literal(b"]}")

    def _documents_in_order(self) -> Iterator[tuple[Segment, ...]]:
        absent = iter(self._absent)
        waiting = next(absent, None)
        for number, (_, rest) in enumerate(self._jobs()):
            while waiting is not None and waiting[0] == number:
                yield (literal(waiting[1]),)
                waiting = next(absent, None)
            yield _OPENING, rest
        while waiting is not None:
            yield (literal(waiting[1]),)
            waiting = next(absent, None)

    def _jobs(self) -> Iterator[tuple[str, Frames]]:
        names = list(self._names)
        start = 0
        for number, end in enumerate(self._ends):
            digest = self._digests[number * _DIGEST : (number + 1) * _DIGEST].hex()
            place = Place(names[self._packs[number]], self._offsets[number], self._stored[number], digest)
            yield self._ids[start:end].decode(), Frames(place, self._documents[number] - len(OPENING))
            start = end
