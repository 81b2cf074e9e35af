"""What a terminal makes of text: how wide it is, what it would act on, and whether a line can be drawn anew."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import IO, Any

#: Escape sequences as terminals know them: CSI, OSC, the other strings, two-character ones, and the 8-bit CSI.
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]"
)
_SPACES = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
#: Control characters, and those that turn the direction of text around.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ELLIPSIS = "…"


def plain(text: str) -> str:
    """One line of what can be seen: escape sequences and control characters are gone, line ends and tabs are a space."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("", _SPACES.sub(" ", _SEQUENCES.sub("", text)))


def visible(text: str) -> str:
    """`text` with its tabs, and without what a terminal would act on: for words that a server had a hand in."""
    if text.isascii() and text.isprintable():
        return text
    return "\t".join(map(plain, text.split("\t")))


def cells(text: str) -> int:
    """How many columns `text` (without control characters) takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def fitted(text: str, columns: int) -> str:
    """`text` in at most `columns` columns, with an ellipsis where it was cut."""
    if cells(text) <= columns:
        return text
    if columns < 1:
        return ""
    taken, room = [], columns - 1
    for character in text:
        room -= _width(character)
        if room < 0:
            break
        taken.append(character)
    return "".join(taken) + _ELLIPSIS


def columns_of(stream: IO[Any] | None, otherwise: int) -> int:
    """The width of the terminal behind a stream; `otherwise` where there is none."""
    if stream is None:
        return otherwise
    try:
        return os.get_terminal_size(stream.fileno()).columns or otherwise
    except (OSError, ValueError, AttributeError):
        return otherwise


def is_terminal(stream: IO[Any] | None) -> bool:
    """Whether a person's terminal is behind a stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
