"""One deterministic `.tgz` of files: equal files give equal bytes, and each tar entry is a gzip member that can be read alone."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol

_BLOCK = 512
_PIECE = 256 * 1024
#: A third of the time of level 6 for a tenth more bytes.
_LEVEL = 4
#: What a header from the template can say: longer names and sizes need the full form.
_SHORT_NAME = 99
_SHORT_SIZE = 0o77777777777
#: Magic, deflate, no flags, time 0, no extra flags, unknown system: nothing of the machine or the moment goes into the bytes.
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
_DRIVE = re.compile(r"[A-Za-z]:")


class ArchiveError(Exception):
    """A file that cannot go into the archive: its path is unsafe, taken twice, or the file changed while it was read."""


class ArchiveFile(Protocol):
    """What the archive needs to know of a file: its path inside (posix, relative), its bytes or where they are, and their number."""

    @property
    def path(self) -> str: ...
    @property
    def source(self) -> Path | bytes: ...
    @property
    def size(self) -> int: ...
    @property
    def executable(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ArchiveInfo:
    """What was written: SHA-256 (hex) and length of the archive in bytes."""

    sha256: str
    size: int


def write_archive(files: Iterable[ArchiveFile], out: BinaryIO) -> ArchiveInfo:
    """Write the files, sorted by path, to `out`. Memory does not grow with their size.

    Raises `ArchiveError` for an unsafe or repeated path and for a file whose length is not `size` any more; `OSError` from reading.
    """
    sink = _Sink(out)
    previous = None
    for file in sorted(files, key=lambda item: item.path.encode("utf-8", "surrogatepass")):
        if file.path == previous:
            raise ArchiveError(f"{file.path!r} is there twice")
        previous = file.path
        _write_entry(file, sink)
    sink.write(_end())
    return ArchiveInfo(sink.digest.hexdigest(), sink.size)


def safe_path(path: str) -> bool:
    """Whether `path` can be a member's name: relative, posix, no empty, `.` or `..` segment, no NUL, no backslash, no drive letter."""
    parts = path.split("/")
    return not ("\0" in path or "\\" in path or _DRIVE.match(path) or any(part in {"", ".", ".."} for part in parts))


class _Sink:
    """Counts and hashes what passes on its way to the file."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        self._out.write(data)
        self.digest.update(data)
        self.size += len(data)


class _Member:
    """One gzip member with nothing in its header."""

    def __init__(self, sink: _Sink) -> None:
        self._sink = sink
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._crc = 0
        self._size = 0
        sink.write(_GZIP_HEAD)

    def write(self, data: bytes) -> None:
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        packed = self._deflate.compress(data)
        if packed:
            self._sink.write(packed)

    def close(self) -> None:
        self._sink.write(self._deflate.flush())
        self._sink.write(self._crc.to_bytes(4, "little") + (self._size & 0xFFFFFFFF).to_bytes(4, "little"))


def _write_entry(file: ArchiveFile, sink: _Sink) -> None:
    if not safe_path(file.path):
        raise ArchiveError(f"{file.path!r} is no safe path inside an archive")
    member = _Member(sink)
    padding = b"\0" * (-file.size % _BLOCK)
    if isinstance(file.source, bytes):
        if len(file.source) != file.size:
            raise ArchiveError(f"{file.path!r} has {len(file.source)} bytes, not the {file.size} announced")
        member.write(b"".join((_header(file), file.source, padding)))
    else:
        member.write(_header(file))
        _copy(file.source, file.size, member.write)
        member.write(padding)
    member.close()


def _header(file: ArchiveFile) -> bytes:
    """The tar header of a file: as `tarfile` writes it, from a template where the name is short and plain."""
    if len(file.path) > _SHORT_NAME or not file.path.isascii() or file.size > _SHORT_SIZE:
        return _tar_header(file.path, file.size, file.executable)
    header = bytearray(_template(file.executable))
    header[: len(file.path)] = file.path.encode("ascii")
    header[124:135] = b"%011o" % file.size
    header[148:156] = b"        "
    header[148:155] = b"%06o\0" % sum(header)
    return bytes(header)


@functools.cache
def _template(executable: bool) -> bytes:
    return _tar_header("", 0, executable)


def _tar_header(path: str, size: int, executable: bool) -> bytes:
    entry = tarfile.TarInfo(path)
    entry.size = size
    entry.mode = 0o755 if executable else 0o644
    return entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


@functools.cache
def _end() -> bytes:
    """The last member: what ends a tar archive."""
    out = BytesIO()
    member = _Member(_Sink(out))
    member.write(b"\0" * (2 * _BLOCK))
    member.close()
    return out.getvalue()


def open_regular(source: Path) -> BinaryIO:
    """A regular file, opened to be read and never through a link: it may have been replaced since it was listed.

    Raises `ArchiveError` for anything else that stands there, `OSError`.
    """
    descriptor = os.open(source, _FLAGS)
    stream = open(descriptor, "rb")  # noqa: SIM115 - handed to the caller
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        stream.close()
        raise ArchiveError(f"{source} is no regular file any more")
    return stream


def read_regular(source: Path, most: int) -> bytes:
    """At most `most` bytes of a regular file, a small one: with as few calls of the system as that takes. Raises as `open_regular`."""
    descriptor = os.open(source, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ArchiveError(f"{source} is no regular file any more")
        data = os.read(descriptor, most)
        while 0 < len(data) < most and (more := os.read(descriptor, most - len(data))):
            data += more
        return data
    finally:
        os.close(descriptor)


def _copy(source: Path, size: int, write: Callable[[bytes], None]) -> None:
    """Exactly `size` bytes of a file."""
    with open_regular(source) as stream:
        left = size
        while left:
            data = stream.read(min(_PIECE, left))
            if not data:
                raise ArchiveError(f"{source} became shorter while it was read: {size - left} bytes, not {size}")
            write(data)
            left -= len(data)
        if stream.read(1):
            raise ArchiveError(f"{source} became longer while it was read: more than {size} bytes")
