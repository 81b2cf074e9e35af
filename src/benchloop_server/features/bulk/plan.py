"""What a bulk body holds, frozen: every item's facts in about 170 bytes, so that the body of any group can be sent at any time from memory.

Lines are made while they are sent and not kept. Stored bytes never change.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

import msgspec

from benchloop_client.contract.bulk import BulkEntry, BulkHead, BulkItem
from benchloop_server.features.artifacts.service import archive_name
from benchloop_server.kit.verified import Place

ItemKind = Literal["trajectory", "metadata", "artifact"]

_DIGEST = 32
_ABSENT, _GONE, _ZSTD = 1, 2, 4
_encode = msgspec.json.Encoder().encode


class Plan:
    """The items of one body in their order, all of one kind. `length` is that of the body in bytes; `lead` precedes each stored place."""

    def __init__(self, kind: ItemKind, *, lead: bytes = b"") -> None:
        self.kind, self._lead = kind, lead
        self._ids, self._id_ends, self._flags = bytearray(), array("Q"), bytearray()
        self._starts, self._lengths, self._sizes, self._digests = array("Q"), array("Q"), array("Q"), bytearray()
        #: Where the bytes are: the number of the blob, the offset in there, the digest of what is stored. -1: in `_own`, or not here.
        self._blobs, self._offsets, self._stored = array("l"), array("Q"), bytearray()
        self._names: list[str] = []
        self._blob_numbers: dict[str, int] = {}
        self._own: dict[int, bytes] = {}
        self._version = hashlib.sha256()
        self.length = 0

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, item: BulkItem, content: Place | bytes | None = None) -> bytes:
        """The next item; returns its line. `content` is where its bytes are, or these bytes where they are few; None: there are none, or
        whoever calls keeps them and never asks for `pieces`.
        """
        line = _encode(item) + b"\n"
        self._version.update(line)
        self._add_content(content)
        self._ids += item.job_id.encode()
        self._id_ends.append(len(self._ids))
        self._starts.append(self.length)
        self._lengths.append(item.length)
        self._sizes.append(item.size)
        self._digests += bytes.fromhex(item.sha256)
        self._flags.append(item.absent * _ABSENT | item.gone * _GONE | (item.encoding is not None) * _ZSTD)
        self.length += len(line) + item.length
        return line

    @property
    def held(self) -> int:
        """About how many bytes of memory the plan takes."""
        return (
            len(self._ids) + len(self) * (5 * 8 + 8 + 1 + 2 * _DIGEST) + sum(map(len, self._own.values())) + 100 * len(self._blob_numbers)
        )

    @property
    def etag(self) -> str:
        """The version, quoted: the same for the same body, since the lines hold the digest of everything between them."""
        return f'"bulk-{self._version.hexdigest()[:40]}"'

    def find(self, offset: int) -> tuple[int, int]:
        """(number of the item that byte `offset` of the body belongs to, where in the body that item begins)."""
        number = max(bisect_right(self._starts, offset) - 1, 0)
        return number, self._starts[number] if self._starts else 0

    def place(self, number: int) -> Place | None:
        """Where the bytes of an item are; None: nowhere in the store."""
        blob = self._blobs[number]
        if blob < 0:
            return None
        digest = self._stored[number * _DIGEST : (number + 1) * _DIGEST].hex()
        return Place(self._names[blob], self._offsets[number], self._lengths[number] - len(self._lead), digest)

    def job_id(self, number: int) -> str:
        """Whose item it is."""
        return self._ids[self._id_ends[number - 1] if number else 0 : self._id_ends[number]].decode()

    def pieces(self, first: int = 0) -> Iterator[bytes | Place]:
        """The body from the start of item number `first` on."""
        for number in range(first, len(self)):
            yield _encode(self._item(number)) + b"\n"
            if (place := self.place(number)) is not None:
                if self._lead:
                    yield self._lead
                yield place
            elif number in self._own:
                yield self._own[number]

    def index(self) -> Iterator[bytes]:
        """The lines of the index, each with its newline."""
        yield _encode(BulkHead(etag=self.etag, total_length=self.length, items=len(self))) + b"\n"
        for number in range(len(self)):
            after = self._starts[number + 1] if number + 1 < len(self) else self.length
            item = self._item(number)
            yield _encode(BulkEntry(**msgspec.structs.asdict(item), offset=after - item.length)) + b"\n"

    def _item(self, number: int) -> BulkItem:
        job_id, flags = self.job_id(number), self._flags[number]
        return BulkItem(
            job_id=job_id,
            kind=self.kind,
            length=self._lengths[number],
            size=self._sizes[number],
            encoding="zstd" if flags & _ZSTD else None,
            sha256=self._digests[number * _DIGEST : (number + 1) * _DIGEST].hex(),
            name=name_of(self.kind, job_id),
            absent=bool(flags & _ABSENT),
            gone=bool(flags & _GONE),
        )

    def _add_content(self, content: Place | bytes | None) -> None:
        if isinstance(content, Place):
            self._blobs.append(self._blob_number(content.blob))
            self._offsets.append(content.offset)
            self._stored += bytes.fromhex(content.sha256)
            return
        if content:
            self._own[len(self)] = content
        self._blobs.append(-1)
        self._offsets.append(0)
        self._stored += bytes(_DIGEST)

    def _blob_number(self, blob: str) -> int:
        number = self._blob_numbers.setdefault(blob, len(self._names))
        if number == len(self._names):
            self._names.append(blob)
        return number


def name_of(kind: ItemKind, job_id: str) -> str | None:
    """The file name that the line of an item holds."""
    return archive_name(job_id) if kind == "artifact" else None
