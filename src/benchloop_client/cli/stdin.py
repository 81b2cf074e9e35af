"""Reading the whole of stdin as text, with a word to a person who is sitting at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

import click


def read_all(stdin: TextIO | None, what: str, say: Callable[[str], None]) -> str:
    """All of stdin as UTF-8, a byte order mark dropped. Raises `click.BadParameter` when there is no stdin or it is not UTF-8."""
    if stdin is None or stdin.closed:
        raise click.BadParameter(f"'-' asks for {what} from stdin, but stdin is closed")
    if stdin.isatty():
        say(f"reading {what} from the terminal: one a line, end with Ctrl-D")
    raw = getattr(stdin, "buffer", None)
    try:
        return raw.read().decode("utf-8-sig") if raw is not None else stdin.read()
    except UnicodeDecodeError:
        raise click.BadParameter(f"stdin does not hold {what} in UTF-8") from None
