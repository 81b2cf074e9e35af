"""Reading the whole of stdin as text, with a word to a person who is sitting at it; and asking such a person for one line."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import NoReturn, TextIO

import click


class Spent(io.StringIO):
    """What takes the place of a stdin that holds the key: nothing else can be read from it."""

    def read(self, size: int | None = -1) -> NoReturn:
        """Raises `click.BadParameter`."""
        raise click.BadParameter("stdin holds the key (--api-key-stdin): ids and texts cannot come from there too")


def read_all(stdin: TextIO | None, what: str, say: Callable[[str], None], *, how: str = "one a line, end with Ctrl-D") -> str:
    """All of stdin as UTF-8, a byte order mark dropped. Raises `click.BadParameter` when there is no stdin or it is not UTF-8."""
    if stdin is None or stdin.closed:
        raise click.BadParameter(f"{what} should come from stdin, but stdin is closed")
    if stdin.isatty():
        say(f"reading {what} from the terminal: {how}")
    raw = getattr(stdin, "buffer", None)
    try:
        return raw.read().decode("utf-8-sig") if raw is not None else stdin.read()
    except UnicodeDecodeError:
        raise click.BadParameter(f"stdin does not hold {what} in UTF-8") from None


def read_key(stdin: TextIO | None, say: Callable[[str], None]) -> str:
    """The key that stdin holds, white space around it dropped. Raises `click.BadParameter` when there is none."""
    key = read_all(stdin, "the key", say, how="end with Ctrl-D").strip()
    if not key:
        raise click.BadParameter("stdin holds no key")
    return key
