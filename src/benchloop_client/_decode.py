"""Content codings and JSON of answers: decodes streams piece by piece, notices when one ends too early, and reads JSON leniently."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PIECE = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"


class Undecodable(ValueError):
    """The bytes are not what their `Content-Encoding` says, or end in the middle."""


class Decoder(Protocol):
    """Turns coded pieces into plain ones; `finish` raises `Undecodable` if the coded stream is not complete."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def finish(self) -> None: ...


def decoder(coding: str) -> Decoder | None:
    """The decoder for one `Content-Encoding`, None for plain bytes. Raises `Undecodable` for a coding that is not known."""
    name = coding.strip().lower()
    if name in {"", "identity"}:
        return None
    if name in {"gzip", "x-gzip"}:
        return _Zlib(31)
    if name == "deflate":
        return _Zlib(15)
    if name == "zstd":
        return _Zstd()
    raise Undecodable(f"content coding {name[:20]!r} is not known")


def decoded(pieces: Iterable[bytes], coding: str, *, wants_gzip: bool = False) -> Iterator[bytes]:
    """`pieces` without their content coding. With `wants_gzip` the result has to be a gzip file: where undoing the coding would leave
    something else, the coding was only a wrong label on the file itself, and the bytes pass as they are.
    """
    tool = decoder(coding)
    if tool is None:
        yield from pieces
        return
    source = iter(pieces)
    if wants_gzip:
        head = _head(source)
        if not _yields_gzip(head, coding):
            yield from head
            yield from source
            return
        source = _chain(head, source)
    for piece in source:
        yield from tool.feed(piece)
    tool.finish()


def parse_json(raw: bytes) -> Any:
    """The value of `raw`; `None` for nothing at all. Lone surrogates and NaN are let through. Raises `ValueError` with a short reason."""
    if not raw.strip():
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _parse_leniently(raw)


def _parse_leniently(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig", "surrogatepass"))
    except RecursionError:
        raise ValueError("JSON is nested too deep") from None
    except UnicodeDecodeError:
        raise ValueError("text is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON at byte {error.pos}") from None
    except ValueError:
        raise ValueError("JSON holds a number that is too long") from None


class _Zlib:
    """gzip (any number of members) and deflate (with or without its header)."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._tool = zlib.decompressobj(window)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        more = False
        while data or more:
            if self._tool.eof:
                data = data.lstrip(b"\0")  # padding between and after members
                if not data:
                    return
                self._tool = zlib.decompressobj(self._window)
            piece = self._decompress(data)
            if piece:
                yield piece
            # A full piece may have more behind it even if all input is taken in.
            more = len(piece) == _PIECE
            data = self._tool.unconsumed_tail or self._tool.unused_data

    def _decompress(self, data: bytes) -> bytes:
        try:
            piece = self._tool.decompress(data, _PIECE)
        except zlib.error as error:
            if self._window != 15 or self._begun:
                raise Undecodable("compressed answer is damaged") from error
            self._window = -15
            self._tool = zlib.decompressobj(-15)
            return self._decompress(data)
        self._begun = True
        return piece

    def finish(self) -> None:
        if not self._tool.eof:
            raise Undecodable("compressed answer ends too early")


class _Zstd:
    """Any number of zstd frames, one after another; each is complete in itself."""

    def __init__(self) -> None:
        self._tool = zstd.ZstdDecompressor()
        self._between = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._tool.eof:
                data = self._tool.unused_data or data
                self._tool = zstd.ZstdDecompressor()
            if not data and (self._between or self._tool.needs_input):
                return
            piece = self._decompress(data)
            if piece:
                yield piece
            data = self._tool.unused_data if self._tool.eof else b""
            self._between = self._tool.eof
            if not data and (self._tool.eof or self._tool.needs_input):
                return

    def _decompress(self, data: bytes) -> bytes:
        try:
            piece: bytes = self._tool.decompress(data, _PIECE)
        except zstd.ZstdError as error:
            raise Undecodable("compressed answer is damaged") from error
        return piece

    def finish(self) -> None:
        if not self._between:
            raise Undecodable("compressed answer ends too early")


def _head(source: Iterator[bytes]) -> list[bytes]:
    head: list[bytes] = []
    while sum(map(len, head)) < 64:
        piece = next(source, None)
        if piece is None:
            break
        head.append(piece)
    return head


def _yields_gzip(head: list[bytes], coding: str) -> bool:
    tool = decoder(coding)
    assert tool is not None
    try:
        start = b"".join(piece for data in head for piece in tool.feed(data))
    except Undecodable:
        return False
    return start.startswith(GZIP_MAGIC)


def _chain(head: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    yield from head
    yield from rest
