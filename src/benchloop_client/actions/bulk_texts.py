"""The documents of a bulk stream as text for the array of a group's file: unpacked and laid out while the caller writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from benchloop_client.actions.bulk import Mark, nothing
from benchloop_client.actions.indenter import Indenter
from benchloop_client.actions.layout import Layout
from benchloop_client.contract.bulk import BulkItem
from benchloop_client.contract.compression import BadFrames, Decoder, unpacked
from benchloop_client.errors import BenchloopError, IntegrityError
from benchloop_client.transfer.bundle import Item, label
from benchloop_client.transfer.stages import ahead

#: Documents are laid out in batches of about so many plain bytes.
BATCH = 1 << 20
#: A longer document (plain bytes) goes through in pieces.
LARGE = 1 << 23
#: A block of this size, taken and given back, tells glibc not to give smaller ones back to the system each time, which would cost more than
#: all the copying: every page of them would have to be made anew. Nothing is touched; elsewhere it has no effect.
_NEVER_TRIMMED = 31 << 20
#: How deep the documents stand in a group's file.
_DEPTH = 2


@dataclass(slots=True)
class Packed:
    """Whole documents as they came. `mark`: behind the last of them; `recorded`: how many are no stand-ins."""

    documents: list[tuple[BulkItem, bytes]] = field(default_factory=list)
    size: int = 0
    mark: Mark | None = None
    recorded: int = 0

    def add(self, header: BulkItem, data: bytes, mark: Mark) -> None:
        """Append a document."""
        self.documents.append((header, data))
        self.size += header.size
        self.recorded += not nothing(header)
        self.mark = mark


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one large document, packed or plain; `mark` is set with the last one, which is empty."""

    header: BulkItem
    data: bytes
    first: bool
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Text to be written: `jobs` documents, each with the comma that parts it from the one before (the very first too). `mark`: behind
    them, None in the middle of a document.
    """

    chunks: tuple[bytes | memoryview, ...]
    jobs: int
    recorded: int
    mark: Mark | None


_Packed: TypeAlias = "Packed | Piece"


@dataclass(frozen=True, slots=True)
class _Plain:
    """The plain documents of a batch, joined with commas inside `[[` and `]]`."""

    joined: bytes
    batch: Packed


def texts(items: Iterable[tuple[Item, Mark]], layout: Layout, *, large: int = LARGE) -> Iterator[Text]:
    """The documents of `items` laid out for the array in a group's file; `layout` is that of the file. Documents of more than `large` plain
    bytes go through in pieces. Raises `IntegrityError`.
    """
    bytes(_NEVER_TRIMMED)
    # Two threads: more of them only wait for each other, as laying out needs the interpreter all the time (measured).
    yield from ahead(_laid_out(_unpacked(_batches(items, large)), layout))


def _batches(items: Iterable[tuple[Item, Mark]], large: int) -> Iterator[_Packed]:
    """Small documents together, large ones in pieces. What was collected when the stream breaks off comes before the error."""
    batch = Packed()
    try:
        for item, mark in items:
            header = item.header
            if header.length and header.size <= large and item.whole:
                batch.add(header, item.read(), mark)
                if batch.size >= BATCH:
                    yield batch
                    batch = Packed()
            elif header.length:
                if batch.documents:
                    yield batch
                    batch = Packed()
                yield from pieces(item, mark)
    except BenchloopError:
        if batch.documents:
            yield batch
        raise
    if batch.documents:
        yield batch


def plain(header: BulkItem, data: bytes) -> list[bytes]:
    """The plain bytes of an item, in pieces. Raises `IntegrityError`."""
    if header.encoding is None:
        return [data]
    try:
        return unpacked(data, header.size)
    except BadFrames as error:
        raise IntegrityError(f"the {label(header)} cannot be unpacked: {error}") from None


def plain_pieces(header: BulkItem, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The plain bytes of an item of any length. Raises `IntegrityError`."""
    if header.encoding is None:
        yield from chunks
        return
    decoder = Decoder(limit=header.size)
    try:
        for chunk in chunks:
            yield from decoder.feed(chunk)
        decoder.finish()
    except BadFrames as error:
        raise IntegrityError(f"the {label(header)} cannot be unpacked: {error}") from None
    if decoder.plain_length != header.size:
        raise IntegrityError(f"the {label(header)} is {decoder.plain_length} bytes unpacked, {header.size} were announced")


def pieces(item: Item, mark: Mark) -> Iterator[Piece]:
    """A large document in pieces."""
    first = True
    for chunk in item.chunks():
        yield Piece(item.header, chunk, first)
        first = False
    yield Piece(item.header, b"", first, mark)


def _unpacked(packed: Iterator[_Packed]) -> Iterator[_Plain | Piece]:
    source = iter(packed)
    for one in source:
        if isinstance(one, Packed):
            yield _Plain(_joined(one), one)
            continue
        feed = Feed(one, source)
        first = True
        for chunk in plain_pieces(one.header, feed):
            yield Piece(one.header, chunk, first)
            first = False
        yield Piece(one.header, b"", first, feed.mark)


class Feed:
    """The packed bytes of one large document, given its first piece and the source of the others. `mark` is known at the end."""

    def __init__(self, first: Piece, source: Iterator[object]) -> None:
        self._first, self._source = first, source
        self.mark: Mark | None = None

    def __iter__(self) -> Iterator[bytes]:
        """The bytes."""
        piece: object = self._first
        while isinstance(piece, Piece) and piece.mark is None:
            yield piece.data
            piece = next(self._source)
        assert isinstance(piece, Piece)
        self.mark = piece.mark


def _joined(batch: Packed) -> bytes:
    parts = [b"[["]
    for header, data in batch.documents:
        parts += plain(header, data)
        parts.append(b",")
    parts[-1] = b"]]"
    return b"".join(parts)


def _laid_out(batches: Iterator[_Plain | Piece], layout: Layout) -> Iterator[Text]:
    indenter: Indenter | None = None
    for one in batches:
        if isinstance(one, _Plain):
            batch = one.batch
            yield Text(_batch_text(one.joined, batch, layout), len(batch.documents), batch.recorded, batch.mark)
            continue
        if one.first:
            indenter = Indenter(layout.inner(_DEPTH))
        assert indenter is not None
        head = b"," + layout.line(_DEPTH) if one.first else b""
        text = head + (indenter.feed(one.data) if one.mark is None else indenter.finish())
        yield Text((text,), int(one.first), int(one.first and not nothing(one.header)), one.mark)


def _batch_text(joined: bytes, batch: Packed, layout: Layout) -> tuple[bytes | memoryview, ...]:
    """The documents with a comma before each. The array in an array gives them the depth at which they stand in the file."""
    try:
        laid_out = msgspec.json.format(joined, indent=2) if layout.pretty else joined
        head, tail = (len(b"[\n  ["), len(b"\n  ]\n]")) if layout.pretty else (2, 2)
        return b",", memoryview(laid_out)[head:-tail]
    except (msgspec.DecodeError, RecursionError):
        inner = layout.inner(_DEPTH)
        return tuple(part for header, data in batch.documents for part in (b",", inner.line(), inner.text(b"".join(plain(header, data)))))
