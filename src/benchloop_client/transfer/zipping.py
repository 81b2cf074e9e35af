"""ZIP files that grow entry by entry and can be gone on with after a break: the directory at the end is made from the entries themselves.

Entries may be made of pieces that were deflated one by one; ZIP64 where it is needed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from benchloop_client.errors import IntegrityError

STORED, DEFLATED = 0, 8
#: What ends a deflated entry that was made of open pieces.
LAST = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS).flush()

_LOCAL = struct.Struct("<4s2B4HL2L2H")
_CENTRAL = struct.Struct("<4s4B4HL2L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_SIZES64 = struct.Struct("<2H2Q")
_LIMIT, _MANY = 0xFFFFFFFF, 0xFFFF
_VERSION, _VERSION64, _UNIX = 20, 45, 3
_ZIP64 = 1
_UTF8 = 0x800
#: 1980-01-01, as far back as the format goes: equal content gives equal bytes.
_DATE = (1 << 5) | 1
_MODE = 0o100644 << 16
#: A head and a name as long as ours are.
_HEAD = 512


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its name, CRC-32 and length of what it holds, and how many bytes that takes. `offset`: of its head in the file."""

    name: str
    method: int
    crc: int
    size: int
    packed: int
    offset: int = 0


def deflated(data: bytes, level: int, *, last: bool = True) -> bytes:
    """One piece of an entry; after a piece that is not the `last` another can follow, or `LAST`. Level 0 leaves it as it is."""
    if not level:
        return data
    tool = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    return tool.compress(data) + tool.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)


def head(entry: Entry, *, large: bool = False) -> bytes:
    """What stands before the bytes of an entry. `large`: with room for any size, so that it can be filled in later."""
    name, flags = _named(entry.name)
    large = large or entry.size >= _LIMIT or entry.packed >= _LIMIT
    extra = _SIZES64.pack(_ZIP64, 16, entry.size, entry.packed) if large else b""
    packed, size = (_LIMIT, _LIMIT) if large else (entry.packed, entry.size)
    version = _VERSION64 if large else _VERSION
    fixed = _LOCAL.pack(b"PK\3\4", version, 0, flags, entry.method, 0, _DATE, entry.crc, packed, size, len(name), len(extra))
    return fixed + name + extra


def entries(file: IO[bytes], end: int) -> Iterator[Entry]:
    """The entries of a file that is open for reading, which take it up to byte `end`. Raises `IntegrityError` for one that holds something
    else.
    """
    at = 0
    while at < end:
        entry, start = _entry(file, at)
        yield entry
        at = start + entry.packed
    if at != end:
        raise IntegrityError("the unfinished ZIP ends in the middle of an entry")


def entry_at(file: IO[bytes], offset: int) -> Entry:
    """The entry whose head is there. Raises `IntegrityError` if there is none."""
    return _entry(file, offset)[0]


def content(file: IO[bytes], entry: Entry) -> bytes:
    """What an entry holds. Raises `IntegrityError` if it is damaged."""
    _, start = _entry(file, entry.offset)
    file.seek(start)
    packed = file.read(entry.packed)
    try:
        data = zlib.decompress(packed, -zlib.MAX_WBITS) if entry.method == DEFLATED else packed
    except zlib.error:
        data = b""
    if zlib.crc32(data) != entry.crc or len(data) != entry.size:
        raise IntegrityError(f"{entry.name} in the unfinished ZIP is damaged")
    return data


def _entry(file: IO[bytes], at: int) -> tuple[Entry, int]:
    """The entry whose head is at byte `at`, and where its bytes begin."""
    file.seek(at)
    fixed = file.read(_HEAD)
    try:
        mark, _, _, _, method, _, _, crc, packed, size, length, extra = _LOCAL.unpack_from(fixed)
        start = _LOCAL.size + length + extra
        fixed += file.read(start - len(fixed)) if start > len(fixed) else b""
        name = fixed[_LOCAL.size : _LOCAL.size + length].decode("utf-8")
        if extra:
            kind, _, size, packed = _SIZES64.unpack_from(fixed, _LOCAL.size + length)
            mark = mark if kind == _ZIP64 else b""
    except (struct.error, UnicodeDecodeError):
        mark = b""
    if mark != b"PK\3\4":
        raise IntegrityError("the unfinished ZIP holds something that is no entry")
    return Entry(name, method, crc, size, packed, at), at + start


def directory(file: IO[bytes], end: int) -> Iterator[bytes]:
    """What follows the last entry, in pieces: the list of all entries, and the end."""
    count = length = 0
    for entry in entries(file, end):
        record = _record(entry)
        count, length = count + 1, length + len(record)
        yield record
    if count >= _MANY or end >= _LIMIT or length >= _LIMIT:
        yield _END64.pack(b"PK\6\6", 44, _VERSION64, _VERSION64, 0, 0, count, count, length, end)
        yield _LOCATOR.pack(b"PK\6\7", 0, end + length, 1)
    few = min(count, _MANY)
    yield _END.pack(b"PK\5\6", 0, 0, few, few, min(length, _LIMIT), min(end, _LIMIT), 0)


def _record(entry: Entry) -> bytes:
    name, flags = _named(entry.name)
    wide = [value for value in (entry.size, entry.packed, entry.offset) if value >= _LIMIT]
    extra = struct.pack(f"<2H{len(wide)}Q", _ZIP64, 8 * len(wide), *wide) if wide else b""
    version = _VERSION64 if wide else _VERSION
    fixed = _CENTRAL.pack(
        b"PK\1\2",
        version,
        _UNIX,
        version,
        0,
        flags,
        entry.method,
        0,
        _DATE,
        entry.crc,
        min(entry.packed, _LIMIT),
        min(entry.size, _LIMIT),
        len(name),
        len(extra),
        0,
        0,
        0,
        _MODE,
        min(entry.offset, _LIMIT),
    )
    return fixed + name + extra


def _named(name: str) -> tuple[bytes, int]:
    raw = name.encode("utf-8")
    return raw, 0 if name.isascii() else _UTF8
