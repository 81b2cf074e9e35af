"""The bytes of a long item of a stream as far as they came, kept beside the part that something else is made of them in.

That part can only stop between two items. Without this, a break in an item of many megabytes would cost all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchloop_client.errors import LocalError
from benchloop_client.transfer.resume import Part, Parts


class Tail:
    """The tail of `part`. A disk that has no room for it is no reason to fail: then a break costs the item. Not for several threads."""

    def __init__(self, part: Part) -> None:
        self._parts = Parts(part.root)
        self._name = (f"{part.source} tail", part.target)
        self._kept: Part | None = None
        self._at = 0
        self._note: dict[str, int] = {}
        #: Which version the bytes here are of, and how many there are.
        self.etag, self.have = "", 0
        #: Which version comes.
        self.version: str | None = None

    def take_up(self, start: int, etag: str | None) -> None:
        """Find what is here of an item that begins at byte `start` of the stream's version `etag` (None: any); remove all else."""
        self.drop()
        if self._parts.peek(*self._name) is None:
            return
        self._kept = kept = self._parts.open(*self._name, digest=False)
        note = self._note = kept.state.note if isinstance(kept.state.note, dict) else {}
        whole = note.get("length", 0) if note.get("start") == start else 0
        if kept.state.etag and etag in {None, kept.state.etag} and kept.state.offset <= whole:
            # Of a whole one the last byte is left out: there would be nothing to ask for.
            self.etag, self.have = kept.state.etag, min(kept.state.offset, whole - 1)
        else:
            self.drop()

    def read(self) -> Iterator[bytes]:
        """What is here."""
        left = self.have
        for piece in self._kept.read() if self._kept is not None else ():
            yield piece[:left]
            left -= min(left, len(piece))

    def begin(self, start: int, length: int) -> None:
        """An item of `length` bytes, its line included, begins at byte `start`; what is here already counts as its first bytes."""
        self._at = 0
        if self.have and self._note.get("start") == start:
            return
        self.drop()
        self._note = {"start": start, "length": length}
        try:
            self._kept = self._parts.open(*self._name, digest=False)
            self._kept.begin(etag=self.version)
        except LocalError:
            self.drop()

    def add(self, piece: bytes) -> None:
        """The next bytes of the item."""
        kept = self._kept
        self._at += len(piece)
        if kept is None or self._at <= self.have:
            return
        try:
            kept.write(memoryview(piece)[max(0, self.have - (self._at - len(piece))) :])
            self.have = self._at
            kept.checkpoint(kept.size, note=self._note)
        except LocalError:
            self.drop()

    def drop(self) -> None:
        """Forget and remove it: everything is there, or wrong, or another one is wanted."""
        kept, self._kept, self.have, self.etag = self._kept, None, 0, ""
        if kept is not None:
            kept.abandon()

    def keep(self) -> None:
        """Leave it for the next try."""
        kept, self._kept, self.have = self._kept, None, 0
        if kept is not None:
            kept.keep()
