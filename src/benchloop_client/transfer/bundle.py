"""Splits the body of a bulk stream into its items, from chunks of any size, in constant memory; what does not add up is named and refused.

The body is items one after another, each one JSON line, a line end, and exactly `length` bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import msgspec

from benchloop_client.contract.bulk import BulkItem
from benchloop_client.errors import IntegrityError

#: A line that describes an item is never longer.
HEADER_LIMIT = 1 << 16
#: Payloads up to this length are held whole; longer ones are handed on in pieces.
WHOLE_LIMIT = 1 << 22
_LONGEST = 1 << 53
_DIGEST = 64


class Keeper(Protocol):
    """Keeps the bytes of a long item, its line first, while it is on its way."""

    def begin(self, start: int, length: int) -> None: ...

    def add(self, piece: bytes) -> None: ...


class Item:
    """One item: `offset` of its line in the body, `end` just behind its payload. The payload is taken once, by `read` or `chunks`, before
    the next item is asked for; one that was not taken is skipped then, and verified all the same.
    """

    __slots__ = ("_reader", "_taken", "end", "header", "offset")

    def __init__(self, reader: _Reader, header: BulkItem, offset: int) -> None:
        self._reader = reader
        self._taken = False
        self.header = header
        self.offset = offset
        self.end = reader.position + header.length

    @property
    def whole(self) -> bool:
        """Whether the payload is small enough to be held in one piece."""
        return self.header.length <= WHOLE_LIMIT

    def read(self) -> bytes:
        """All of the payload, verified. Raises `IntegrityError`."""
        self._taken = True
        header = self.header
        data = self._reader.exactly(header.length)
        if len(data) < header.length:
            raise _cut(header, len(data))
        _match(header, hashlib.sha256(data).hexdigest())
        return data

    def chunks(self) -> Iterator[bytes]:
        """The payload in pieces as they arrive; verified at its end, where `IntegrityError` is raised for what is not as announced."""
        self._taken = True
        header, digest, left = self.header, hashlib.sha256(), self.header.length
        keeper = None if self.whole else self._reader.keeper
        while left:
            piece = self._reader.at_most(left)
            if not piece:
                raise _cut(header, header.length - left)
            digest.update(piece)
            left -= len(piece)
            if keeper is not None:
                keeper.add(piece)
            yield piece
        _match(header, digest.hexdigest())

    def finish(self) -> None:
        """Skip what was not taken."""
        if not self._taken:
            for _ in self.chunks():
                pass


def items(
    chunks: Iterable[bytes], *, start: int = 0, seen: Callable[[bytes], object] | None = None, keeper: Keeper | None = None
) -> Iterator[Item]:
    """The items of a body whose bytes from `start` on (the boundary of an item) are `chunks`. `seen` is given each line with its end,
    `keeper` all of each long item that is taken.

    Raises `IntegrityError`, naming the item, for a line that is too long, cut or no header, for lengths that cannot be, for a payload that
    is cut or has another digest; and whatever `chunks` raises.
    """
    reader = _Reader(chunks, start)
    reader.keeper = keeper
    before = ""
    while True:
        offset = reader.position
        line = reader.line()
        if line is None:
            return
        item = Item(reader, _header(line, offset, before), offset)
        if seen is not None:
            seen(line)
        if keeper is not None and not item.whole:
            keeper.begin(offset, len(line) + item.header.length)
            keeper.add(line)
        yield item
        item.finish()
        if reader.position != item.end:
            raise IntegrityError(f"the {label(item.header)} was left in the middle")
        before = label(item.header)


def label(header: BulkItem) -> str:
    """How an item is named in messages."""
    return f"{header.kind} of {header.job_id}"


class _Reader:
    """Bytes of a body by number, whatever pieces they arrive in."""

    def __init__(self, chunks: Iterable[bytes], start: int) -> None:
        self._source = iter(chunks)
        self._buffer = b""
        self._at = 0
        self.position = start
        self.keeper: Keeper | None = None

    def line(self) -> bytes | None:
        """The next line without its end, None at the end of the body. One without an end, or too long, comes with what there is of it."""
        found = self._buffer.find(b"\n", self._at)
        while found < 0 and len(self._buffer) - self._at <= HEADER_LIMIT and self._more():
            found = self._buffer.find(b"\n", self._at)
        if found < 0:
            rest = self._buffer[self._at :]
            return rest or None
        line = self._buffer[self._at : found + 1]
        self._took(len(line))
        return line

    def exactly(self, length: int) -> bytes:
        """The next `length` bytes, fewer only at the end of the body."""
        there = len(self._buffer) - self._at
        if there >= length:
            data = self._buffer[self._at : self._at + length]
            self._took(length)
            return data
        pieces = [self._buffer[self._at :]]
        self._took(there)
        missing = length - there
        while missing:
            piece = self.at_most(missing)
            if not piece:
                break
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def at_most(self, length: int) -> bytes:
        """Some of the next `length` bytes, none at the end of the body."""
        while self._at == len(self._buffer):
            piece = next(self._source, None)
            if piece is None:
                return b""
            self._buffer, self._at = bytes(piece), 0
        data = self._buffer if self._at == 0 and len(self._buffer) <= length else self._buffer[self._at : self._at + length]
        self._took(len(data))
        return data

    def _more(self) -> bool:
        piece = next(self._source, None)
        if piece is None:
            return False
        self._buffer, self._at = self._buffer[self._at :] + bytes(piece), 0
        return True

    def _took(self, count: int) -> None:
        self._at += count
        self.position += count


def _header(line: bytes, offset: int, before: str) -> BulkItem:
    where = f"the item at byte {offset} of the stream" + (f" (after the {before})" if before else "")
    if len(line) > HEADER_LIMIT:
        raise IntegrityError(f"{where} has a line of more than {HEADER_LIMIT} bytes")
    if not line.endswith(b"\n"):
        raise IntegrityError(f"{where} breaks off in its line")
    try:
        header = msgspec.json.decode(line, type=BulkItem)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise IntegrityError(f"{where} has a line that does not describe it") from None
    if not 0 <= header.length <= _LONGEST or not 0 <= header.size <= _LONGEST:
        raise IntegrityError(f"the {label(header)}, {where}, is announced with a length that cannot be")
    if header.length and len(header.sha256) != _DIGEST:
        raise IntegrityError(f"the {label(header)}, {where}, comes without its SHA-256")
    return header


def _match(header: BulkItem, digest: str) -> None:
    if header.length and header.sha256.lower() != digest:
        raise IntegrityError(f"the {label(header)} does not match its announced SHA-256")


def _cut(header: BulkItem, arrived: int) -> IntegrityError:
    return IntegrityError(f"the {label(header)} breaks off: {arrived} of {header.length} bytes arrived")
