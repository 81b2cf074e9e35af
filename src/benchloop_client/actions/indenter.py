"""Lays out one JSON text that arrives in pieces and is too long to be held: as `Layout.text` does it, in constant memory, only slower."""

from __future__ import annotations

import re

from benchloop_client.actions.layout import Layout
from benchloop_client.errors import IntegrityError

#: What stands outside strings: brackets, what parts things, and numbers or words.
_TOKEN = re.compile(rb"[\[{]|[\]}]|,|:|[^\s\[\]{},:]+")
_QUOTE, _BACKSLASH = b'"', 0x5C
_DEEPEST = 10_000


class Indenter:
    """Feed it the text of one compact document; it gives the text as it stands in its file. Raises `IntegrityError` for what is no JSON as
    far as brackets and quotes tell.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._depth = 0
        self._fresh = False
        self._in_string = False
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The text so far, without what was given out before."""
        if not self._layout.pretty:
            return data
        data, self._held = self._held + data, b""
        out: list[bytes] = []
        at = 0
        while at < len(data):
            at = self._string(data, at, out) if self._in_string else self._outside(data, at, out)
        return b"".join(out)

    def finish(self) -> bytes:
        """What is left. Raises `IntegrityError` for a text without its end."""
        if self._held or self._in_string or self._depth:
            raise IntegrityError("the document is not JSON: it has no end")
        return b""

    def _string(self, data: bytes, at: int, out: list[bytes]) -> int:
        """Take up to the end of the string, or all there is of it; half an escape waits for its other half."""
        look = at
        while (quote := data.find(_QUOTE, look)) >= 0:
            if not _escaped(data, quote, at):
                self._in_string = False
                out.append(data[at : quote + 1])
                return quote + 1
            look = quote + 1
        end = len(data)
        if _escaped(data, end, at):
            end -= 1
            self._held = data[end:]
        out.append(data[at:end])
        return len(data)

    def _outside(self, data: bytes, at: int, out: list[bytes]) -> int:
        """Take what stands before the next string, and its quote."""
        quote = data.find(_QUOTE, at)
        end = quote if quote >= 0 else len(data)
        for match in _TOKEN.finditer(data, at, end):
            token = match.group()
            if token == b",":
                out += (token, self._layout.line(self._depth))
            elif token == b":":
                out.append(b": ")
            elif token in b"]}":
                self._close(token, out)
            else:
                self._begin(out)
                out.append(token)
                if token in b"[{":
                    self._open()
        if quote < 0:
            return end
        self._begin(out)
        out.append(_QUOTE)
        self._in_string = True
        return quote + 1

    def _begin(self, out: list[bytes]) -> None:
        if self._fresh:
            out.append(self._layout.line(self._depth))
            self._fresh = False

    def _open(self) -> None:
        self._depth += 1
        self._fresh = True
        if self._depth > _DEEPEST:
            raise IntegrityError("the document is nested too deeply to be read")

    def _close(self, token: bytes, out: list[bytes]) -> None:
        self._depth -= 1
        if self._depth < 0:
            raise IntegrityError("the document is not JSON: it ends twice")
        if self._fresh:
            self._fresh = False
        else:
            out.append(self._layout.line(self._depth))
        out.append(token)


def _escaped(data: bytes, position: int, start: int) -> bool:
    """Whether an odd number of backslashes stands before `position`."""
    at = position
    while at > start and data[at - 1] == _BACKSLASH:
        at -= 1
    return (position - at) % 2 == 1
