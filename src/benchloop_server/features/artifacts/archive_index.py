"""Reads a job's archive while it is received: one gzip member a file, checked, bounded, and indexed so that single files can be served."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from benchloop_client.contract.compression import BadFrames, decode, frame
from benchloop_client.contract.resources import Member
from benchloop_server.features.artifacts.tar_entry import BadArchive, Entry, NoMoreEntries

#: The archive's bytes are digested in blocks of this many, so that a part of it can be verified without reading the rest.
BLOCK = 1 << 20
_GZIP = 31
_PLAIN_CHUNK = 1 << 18
_PIECE = 1 << 16
_RATIO_FROM = 64 << 20


class ArchiveLimits(msgspec.Struct, frozen=True):
    """What an archive may hold: number of files, plain bytes together, and plain bytes for each compressed one (beyond 64 MiB)."""

    members: int
    plain: int
    ratio: int


class ArchiveIndex(msgspec.Struct, frozen=True):
    """The files of an archive in its order, and the SHA-256 (hex) of each `BLOCK` bytes of the archive."""

    members: tuple[Member, ...]
    blocks: tuple[str, ...]


def encode_index(index: ArchiveIndex) -> bytes:
    """The index as it is stored: JSON in one zstd frame."""
    return frame(msgspec.json.encode(index))


def decode_index(raw: bytes) -> ArchiveIndex:
    """The index from its stored form; raises `BadFrames` when it is damaged."""
    try:
        return msgspec.json.decode(b"".join(decode([raw])), type=ArchiveIndex)
    except msgspec.MsgspecError as error:
        raise BadFrames(f"the archive's index is damaged: {error}") from error


class ArchiveWalker:
    """Feed it the archive in pieces of any size, then `finish`. Holds one chunk and the list of members. Raises `BadArchive`."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self._limits = limits
        self._gzip = zlib.decompressobj(_GZIP)
        self._entry = Entry()
        self._members: list[Member] = []
        self._paths: set[str] = set()
        self._blocks = _Blocks()
        self._start = self._taken = self._plain = 0
        self._open = self._ended = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the archive."""
        self._blocks.update(data)
        # Small pieces: what follows a member is copied by zlib, which would be quadratic over many tiny members.
        for at in range(0, len(data), _PIECE):
            self._piece(data[at : at + _PIECE])

    def finish(self) -> ArchiveIndex:
        """The index of the whole archive; raises `BadArchive` when it is cut."""
        if self._open:
            raise BadArchive("the archive is cut: its last gzip member is not complete")
        if not self._ended:
            raise BadArchive("the archive is cut: the two zero blocks that end a tar are missing")
        self._refuse_nested()
        return ArchiveIndex(tuple(self._members), self._blocks.finish())

    def _piece(self, data: bytes) -> None:
        while data:
            if self._ended:
                raise BadArchive("the archive goes on after its end")
            self._open = True
            before = len(data)
            data = self._decompress(data)
            self._taken += before - len(data)
            if self._gzip.eof:
                self._close_member()

    def _decompress(self, data: bytes) -> bytes:
        """Inflate as much as belongs to this member; return what follows it."""
        try:
            for plain in _inflated(self._gzip, data):
                self._grow(plain)
        except zlib.error as error:
            raise BadArchive(f"the archive is not gzip at byte {self._taken}: {error}") from error
        return self._gzip.unused_data

    def _grow(self, plain: bytes) -> None:
        self._plain += len(plain)
        if self._plain > self._limits.plain:
            raise BadArchive(f"the archive's files hold more than {self._limits.plain} bytes")
        received = self._taken + _PIECE
        if self._plain > _RATIO_FROM and self._plain > received * self._limits.ratio:
            raise BadArchive(f"the archive's files hold more than {self._limits.ratio} times the bytes received")
        self._entry.feed(plain)

    def _close_member(self) -> None:
        try:
            name, size, sha256 = self._entry.finish()
        except NoMoreEntries:
            self._ended = True
        else:
            self._add(Member(path=name, size=size, sha256=sha256, offset=self._start, length=self._taken - self._start))
        self._start, self._open = self._taken, False
        self._gzip, self._entry = zlib.decompressobj(_GZIP), Entry()

    def _add(self, member: Member) -> None:
        if member.path in self._paths:
            raise BadArchive(f"the archive holds {member.path!r} twice")
        if len(self._members) >= self._limits.members:
            raise BadArchive(f"the archive holds more than {self._limits.members} files")
        self._paths.add(member.path)
        self._members.append(member)

    def _refuse_nested(self) -> None:
        for path in self._paths:
            parent = path
            while "/" in parent:
                parent = parent.rpartition("/")[0]
                if parent in self._paths:
                    raise BadArchive(f"the archive holds {parent!r} both as a file and as a folder")


@dataclass
class _Blocks:
    """Digests of fixed-size blocks of a stream."""

    done: list[str] = field(default_factory=list)
    filled: int = 0

    def __post_init__(self) -> None:
        self._digest = hashlib.sha256()

    def update(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            part = view[: BLOCK - self.filled]
            self._digest.update(part)
            self.filled += len(part)
            view = view[len(part) :]
            if self.filled == BLOCK:
                self._next()

    def finish(self) -> tuple[str, ...]:
        if self.filled:
            self._next()
        return tuple(self.done)

    def _next(self) -> None:
        self.done.append(self._digest.hexdigest())
        self._digest, self.filled = hashlib.sha256(), 0


def member_bytes(member: Member, stored: Iterator[bytes]) -> Iterator[bytes]:
    """The plain bytes of one file, given the bytes of its gzip member. The last chunk is given only when length and digest are right;
    raises `BadArchive` otherwise.
    """
    entry, digest, length = Entry(), hashlib.sha256(), 0
    held: bytes | None = None
    for chunk in _content(entry, stored):
        digest.update(chunk)
        length += len(chunk)
        if held is not None:
            yield held
        held = chunk
    if length != member.size or digest.hexdigest() != member.sha256:
        raise BadArchive(f"file {member.path!r} is damaged in the store")
    if held is not None:
        yield held


def _content(entry: Entry, stored: Iterator[bytes]) -> Iterator[bytes]:
    inflate = zlib.decompressobj(_GZIP)
    try:
        for data in stored:
            for plain in _inflated(inflate, data):
                yield from entry.content(plain)
    except zlib.error as error:
        raise BadArchive(f"a member of the archive is damaged: {error}") from error
    entry.finish()


def _inflated(inner: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What `data` inflates to, in bounded chunks, up to the end of the gzip member."""
    while not inner.eof:
        plain = inner.decompress(data, _PLAIN_CHUNK)
        data = inner.unconsumed_tail
        if plain:
            yield plain
        if not data and len(plain) < _PLAIN_CHUNK:
            return
