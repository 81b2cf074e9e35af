"""One tar entry as a stream: headers read, name judged, content digested, and anything but one plain file refused."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator

_BLOCK = 512
_PAX_LIMIT = 1 << 16
_NAME_LIMIT = 4096
#: Of a header that says nothing unusual: nobody's file from 1970, the type, no link, the format, no names, no prefix.
_FIXED = b"0000000\0" * 2 + b"\x0000000000000\0" + b"\0 0" + bytes(100) + b"ustar\x0000" + bytes(64) + bytes(167)
_MODES, _DEVICES = (b"0000644\0", b"0000755\0"), (bytes(16), b"0000000\0" * 2)
_PLAIN_FILES = {tarfile.REGTYPE, tarfile.AREGTYPE}
_KINDS = {tarfile.SYMTYPE: "a symbolic link", tarfile.LNKTYPE: "a hard link", tarfile.DIRTYPE: "a folder", tarfile.FIFOTYPE: "a pipe"}


class BadArchive(ValueError):
    """An archive that is refused; the message is one sentence for who sent it."""


class NoMoreEntries(Exception):
    """The member held the two zero blocks that end a tar, and no entry."""


def check_name(name: str) -> str:
    """Return a file name that is safe to hand out (relative, no `..`, no backslash, no NUL), else raise `BadArchive`."""
    if not name or len(name.encode("utf-8", "surrogatepass")) > _NAME_LIMIT:
        raise BadArchive(f"a file in the archive has a name that is empty or longer than {_NAME_LIMIT} bytes")
    if any("\ud800" <= char <= "\udfff" for char in name):
        raise BadArchive(f"file name {name!r} is not UTF-8")
    if "\\" in name or "\0" in name:
        raise BadArchive(f"file name {name!r} holds a backslash or NUL")
    if any(part in {"", ".", ".."} for part in name.split("/")):
        raise BadArchive(f"file name {name!r} is absolute or leads out of the archive")
    return name


class Entry:
    """Feed it the plain bytes of one gzip member, then `finish`. Holds the headers, never the content."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._need = _BLOCK
        self._state = "header"
        self._pax: dict[str, str] = {}
        self._info: tarfile.TarInfo | None = None
        self._left = 0
        self._padding = 0
        self._digest = hashlib.sha256()

    def feed(self, plain: bytes) -> None:
        """Take the next bytes; raises `BadArchive`."""
        for _ in self.content(plain):
            pass

    def content(self, plain: bytes) -> Iterator[bytes]:
        """Take the next bytes and give back those that are the file's content; raises `BadArchive`."""
        at = 0
        while at < len(plain):
            if self._state == "content":
                chunk = plain[at : at + self._left]
                at += len(chunk)
                self._take(chunk)
                yield chunk
            elif self._state == "padding":
                at = self._pad(plain, at)
            else:
                part = plain[at : at + self._need - len(self._header)]
                at += len(part)
                self._header += part
                if len(self._header) == self._need:
                    self._block(bytes(self._header))

    def finish(self) -> tuple[str, int, str]:
        """(path, size, SHA-256 in hex) of the file; raises `NoMoreEntries` for the end of the tar, `BadArchive` for anything else."""
        if self._state == "ended" and not self._header:
            raise NoMoreEntries
        if self._info is None or self._state != "padding" or self._padding:
            raise BadArchive("a gzip member of the archive does not hold exactly one whole tar entry")
        return self._info.name, self._info.size, self._digest.hexdigest()

    def _take(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._left -= len(chunk)
        if not self._left:
            self._state = "padding"

    def _pad(self, plain: bytes, at: int) -> int:
        rest = plain[at : at + self._padding]
        if not rest:
            raise BadArchive("a gzip member of the archive holds more than one tar entry")
        if rest.strip(b"\0"):
            raise BadArchive("a tar entry of the archive is padded with something else than zeros")
        self._padding -= len(rest)
        return at + len(rest)

    def _block(self, block: bytes) -> None:
        self._header.clear()
        if self._state == "pax":
            self._pax.update(_pax_records(block[: self._left]))
            self._state, self._need = "header", _BLOCK
        elif self._state == "zeros" or not block.strip(b"\0"):
            self._zero(block)
        else:
            self._open(_parse(block))

    def _zero(self, block: bytes) -> None:
        if block.strip(b"\0") or self._pax or self._info is not None:
            raise BadArchive("a tar entry of the archive follows a zero block")
        self._state = "zeros" if self._state == "header" else "ended"
        self._need = _BLOCK

    def _open(self, info: tarfile.TarInfo) -> None:
        if self._state == "ended":
            raise BadArchive("the archive goes on after its end")
        if info.type == tarfile.XHDTYPE and not self._pax:
            if not 0 < info.size <= _PAX_LIMIT:
                raise BadArchive(f"an extended header of the archive is empty or longer than {_PAX_LIMIT} bytes")
            self._state, self._left, self._need = "pax", info.size, -(-info.size // _BLOCK) * _BLOCK
            return
        self._file(info)

    def _file(self, info: tarfile.TarInfo) -> None:
        info.name = self._pax.get("path", info.name)
        info.size = _number(self._pax.get("size"), info.size)
        if info.type not in _PLAIN_FILES or "linkpath" in self._pax or "GNU.sparse.major" in self._pax:
            kind = _KINDS.get(info.type, "something else than a plain file")
            raise BadArchive(f"{info.name!r} in the archive is {kind}; only plain files are taken")
        check_name(info.name)
        self._info, self._left = info, info.size
        self._padding = -info.size % _BLOCK
        self._state = "content" if info.size else "padding"


def _plain_file(block: bytes) -> tarfile.TarInfo | None:
    """The header of a plain file with a short name in ASCII, as our own client writes it, read in a fraction of the time; None: another."""
    name, size, told = block[:100].rstrip(b"\0"), block[124:135], block[148:154]
    fixed = block[108:124] + block[135:148] + block[154:329] + block[345:]
    if (
        fixed != _FIXED
        or block[100:108] not in _MODES
        or block[329:345] not in _DEVICES
        or not (size.isdigit() and told.isdigit() and name.isascii())
        or b"\0" in name
        or name.endswith(b"/")
    ):
        return None
    try:
        if not name or sum(block) - sum(block[148:156]) + 8 * ord(" ") != int(told, 8):
            return None
        info = tarfile.TarInfo(name.decode("ascii"))
        info.size = int(size, 8)
    except ValueError:
        return None
    return info


def _parse(block: bytes) -> tarfile.TarInfo:
    plain = _plain_file(block)
    if plain is not None:
        return plain
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise BadArchive(f"a tar header of the archive cannot be read: {error}") from error
    if info.size < 0:
        raise BadArchive("a tar header of the archive has a negative size")
    return info


def _number(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise BadArchive("an extended header of the archive has a size that is no number")
    return int(text)


def _pax_records(block: bytes) -> dict[str, str]:
    """The `LENGTH KEY=VALUE` lines of an extended header."""
    records: dict[str, str] = {}
    while block:
        digits, space, _ = block.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 7 else 0
        record = block[len(digits) + 1 : length]
        key, equals, value = record[:-1].partition(b"=")
        if not space or not equals or length > len(block) or record[-1:] != b"\n":
            raise BadArchive("an extended header of the archive cannot be read")
        records[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
        block = block[length:]
    return records
