"""The bundle body of an upload: items one after another, each one JSON line and then its bytes. A parser that reads nothing itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from benchloop_client.contract.ids import SHA256
from benchloop_client.contract.resources import UploadKind

#: A header line is far shorter; more without a line end is not a bundle.
HEADER_LIMIT = 1024


class BadBundle(ValueError):
    """A body that is not a bundle; the message names the item (counted from 1) and what is wrong."""


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line before an item's bytes. `sha256` (hex) and `size` claim what the plain content is, `length` is how many bytes follow."""

    kind: UploadKind
    sha256: str
    size: int
    length: int
    encoding: Literal["zstd"] | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """An item starts; its number counts from 1."""

    number: int
    item: Item


@dataclass(frozen=True, slots=True)
class Data:
    """Some of the current item's bytes, as sent."""

    chunk: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The current item has had all its bytes."""


Event: TypeAlias = "Begin | Data | End"


class Parser:
    """Feed it the body in pieces of any size; it answers with events. It holds at most one header line."""

    def __init__(self, *, max_items: int) -> None:
        self._line = bytearray()
        self._left: int | None = None
        self._max_items = max_items
        self.items = 0

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events in the next piece of the body; raises `BadBundle`."""
        at = 0
        while at < len(data):
            if self._left is None:
                at, begun = self._header(data, at)
                if begun is not None:
                    yield begun
            else:
                chunk = data[at : at + self._left]
                at += len(chunk)
                self._left -= len(chunk)
                yield Data(chunk)
            if self._left == 0:
                self._left = None
                yield End()

    def finish(self) -> None:
        """Raise `BadBundle` if the body ended inside an item."""
        if self._left is not None:
            raise BadBundle(f"the bundle ends inside item {self.items}: {self._left} bytes are missing")
        if self._line:
            raise BadBundle(f"the bundle ends inside the header of item {self.items + 1}")

    def _header(self, data: bytes, at: int) -> tuple[int, Begin | None]:
        end = data.find(b"\n", at, at + HEADER_LIMIT + 1)
        stop = len(data) if end < 0 else end
        self._line += data[at : min(stop, at + HEADER_LIMIT + 1)]
        if len(self._line) > HEADER_LIMIT:
            raise BadBundle(f"the header of item {self.items + 1} is longer than {HEADER_LIMIT} bytes")
        if end < 0:
            return len(data), None
        return end + 1, self._begin()

    def _begin(self) -> Begin:
        self.items += 1
        if self.items > self._max_items:
            raise BadBundle(f"the bundle holds more than {self._max_items} items")
        item = self._parse(bytes(self._line))
        self._line.clear()
        self._left = item.length
        return Begin(self.items, item)

    def _parse(self, line: bytes) -> Item:
        try:
            item = msgspec.json.decode(line, type=Item)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadBundle(f"the header of item {self.items} cannot be read: {error}") from error
        if not SHA256.match(item.sha256):
            raise BadBundle(f"item {self.items} names no SHA-256 in hex")
        if item.size < 0 or item.length < 0:
            raise BadBundle(f"item {self.items} has a negative length")
        if item.encoding is None and item.length != item.size:
            raise BadBundle(f"item {self.items} is not compressed but its length {item.length} is not its size {item.size}")
        if item.encoding is not None and item.kind != "trajectory":
            raise BadBundle(f"item {self.items} is compressed; only a trajectory may be")
        return item
