"""Several small things in one blob: a store that syncs or sends each blob by itself takes a hundred in the time of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.staging import Staged
from benchloop_server.kit.verified import Place

#: Anything longer gets a blob of its own.
_SMALL = 1 << 20
#: A pack that has reached this many bytes is closed.
_FULL = 8 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """Something given to a packer: the number of its pack, and its place in there."""

    pack: int
    offset: int
    length: int
    sha256: str


class Packer:
    """Add what is to be stored, then `close`; from then on `place` tells where each part is. All is durable when `close` returns.

    Use it with `with`: a packer that is not closed leaves nothing but blobs that no row names.
    """

    def __init__(self, blobs: BlobStore, scratch: Path) -> None:
        self._blobs, self._scratch = blobs, scratch
        self._open: Staged | None = None
        self._names: list[str | None] = []
        self._at = -1

    def __enter__(self) -> Packer:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def add(self, staged: Staged) -> Part:
        """Take everything that was staged; it may be forgotten afterwards."""
        if staged.size > _SMALL:
            self._names.append(staged.store(self._blobs))
            return Part(len(self._names) - 1, 0, staged.size, staged.sha256)
        pack = self._pack()
        part = Part(self._at, pack.size, staged.size, staged.sha256)
        for chunk in staged.chunks():
            pack.write(chunk)
        if pack.size >= _FULL:
            self._seal()
        return part

    def add_bytes(self, data: bytes) -> Part:
        """Take `data`."""
        with Staged(self._scratch) as staged:
            staged.write(data)
            return self.add(staged)

    def close(self) -> None:
        """Make durable what was not yet."""
        self._seal()

    def drop(self) -> None:
        """Forget what is not stored yet."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def place(self, part: Part) -> Place:
        """Where a part is; only after `close`."""
        name = self._names[part.pack]
        if name is None:
            raise RuntimeError("the pack is not closed yet")
        return Place(name, part.offset, part.length, part.sha256)

    def _pack(self) -> Staged:
        if self._open is None:
            self._open = Staged(self._scratch)
            self._names.append(None)
            self._at = len(self._names) - 1
        return self._open

    def _seal(self) -> None:
        if self._open is not None:
            self._names[self._at] = self._open.store(self._blobs)
            self.drop()
