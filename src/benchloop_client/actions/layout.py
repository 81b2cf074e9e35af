"""How JSON looks in our files and on stdout: two-space indent or compact, non-ASCII as it is, numbers exactly as the server wrote them."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from benchloop_client.contract import trajectory
from benchloop_client.errors import IntegrityError

_ESCAPE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")
_SPOOL_IN_MEMORY = 1 << 20
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Layout:
    """Indent (`pretty`) and how many levels deep the text stands in its file."""

    pretty: bool = True
    depth: int = 0

    def inner(self, levels: int = 1) -> Layout:
        """The layout of what stands `levels` deeper."""
        return replace(self, depth=self.depth + levels)

    def line(self, levels: int = 0) -> bytes:
        """What begins a new line `levels` below this one; nothing when compact."""
        return b"\n" + b"  " * (self.depth + levels) if self.pretty else b""

    def value(self, value: Any) -> bytes:
        """A Python value as JSON text. Never fails on lone surrogates or NaN: they become U+FFFD and null."""
        try:
            raw = msgspec.json.encode(value)
        except (UnicodeEncodeError, ValueError):
            text = json.dumps(value, ensure_ascii=False)
            raw = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        return self.text(raw)

    def text(self, raw: bytes) -> bytes:
        """JSON text laid out anew. Raises `IntegrityError` for text that is not JSON or is nested too deeply to be read."""
        formatted = _format(_unescaped(raw), 2 if self.pretty else -1)
        return formatted.replace(b"\n", self.line()) if self.pretty and self.depth else formatted


def _format(raw: bytes, indent: int) -> bytes:
    try:
        return msgspec.json.format(raw, indent=indent)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        value, _ = trajectory.load(raw)
        return msgspec.json.format(msgspec.json.encode(value), indent=indent)
    except (trajectory.TooDeep, RecursionError):
        raise IntegrityError("the document is nested too deeply to be read") from None
    except ValueError as error:
        raise IntegrityError(f"the answer is not JSON: {error}") from None


def _unescaped(raw: bytes) -> bytes:
    return _ESCAPE.sub(_character, raw) if b"\\u" in raw else raw


def _character(match: re.Match[bytes]) -> bytes:
    """The character that an escape stands for, where it is outside ASCII; a lone surrogate and everything else stays as it is."""
    escape = match.group()
    if escape[1:2] != b"u" or int(escape[2:6], 16) < 0x80:
        return escape
    text: str = json.loads(b'"' + escape + b'"')
    return escape if len(text) == 1 and 0xD800 <= ord(text) <= 0xDFFF else text.encode()


class Rows:
    """The elements of one JSON array, kept in a temporary file instead of memory until the array's place in its document is reached.

    `total` is what the server said there are, else the count.
    """

    def __init__(self, layout: Layout) -> None:
        """`layout` is that of the elements."""
        self.count = 0
        self.total = 0
        self._layout = layout
        self._file = tempfile.SpooledTemporaryFile(max_size=_SPOOL_IN_MEMORY)  # noqa: SIM115 - closed by `close`

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, value: Any) -> None:
        """Append one element."""
        self._file.write((b"," if self.count else b"") + self._layout.line() + self._layout.value(value))
        self.count += 1

    def chunks(self) -> Iterator[bytes]:
        """The elements as text, with the separators between them."""
        self._file.seek(0)
        while chunk := self._file.read(_CHUNK):
            yield chunk

    def close(self) -> None:
        """Give the temporary file back."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Documents:
    """The elements of an array as JSON texts, written while they arrive."""

    texts: Iterable[bytes]


@dataclass(frozen=True, slots=True)
class Nested:
    """A value that writes itself: given its layout, it yields its text."""

    render: Callable[[Layout], Iterator[bytes]]


def object_chunks(fields: Iterable[tuple[str, Any]], layout: Layout) -> Iterator[bytes]:
    """The text of one JSON object in the order of `fields`; a value may be `Rows`, `Documents`, `Nested` or any Python value."""
    colon = b": " if layout.pretty else b":"
    before = b"{"
    for name, value in fields:
        yield before + layout.line(1) + layout.value(name) + colon
        yield from _value_chunks(value, layout.inner())
        before = b","
    yield b"{}" if before == b"{" else layout.line() + b"}"


def array_chunks(values: Iterable[Any], layout: Layout) -> Iterator[bytes]:
    """The text of one JSON array; values as in `object_chunks`."""
    before = b"["
    for value in values:
        yield before + layout.line(1)
        yield from _value_chunks(value, layout.inner())
        before = b","
    yield b"[]" if before == b"[" else layout.line() + b"]"


def _value_chunks(value: Any, layout: Layout) -> Iterator[bytes]:
    if isinstance(value, Rows):
        yield b"["
        yield from value.chunks()
        yield (layout.line() if value.count else b"") + b"]"
    elif isinstance(value, Documents):
        yield from array_chunks(map(_document, value.texts), layout)
    elif isinstance(value, Nested):
        yield from value.render(layout)
    else:
        yield layout.value(value)


def _document(text: bytes) -> Nested:
    return Nested(lambda layout: iter((layout.text(text),)))
