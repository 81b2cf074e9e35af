"""Checks of what a client says before it becomes a row: each names the thing and raises `DomainError` (422)."""

from __future__ import annotations

from collections.abc import Iterable

from benchloop_server.kit.clock import parse_time
from benchloop_server.kit.errors import unprocessable

_BIGGEST = 2**53


def moment(thing: str, name: str, text: str | None) -> int | None:
    """The time in microseconds."""
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise unprocessable(f"{thing}: `{name}`: {error}") from None


def check_texts(thing: str, texts: Iterable[tuple[str, str | None]]) -> None:
    """No NUL characters: PostgreSQL cannot hold them."""
    for name, text in texts:
        if text is not None and "\0" in text:
            raise unprocessable(f"{thing}: `{name}` holds a NUL character")


def check_counts(thing: str, counts: Iterable[tuple[str, int | None]]) -> None:
    """Whole numbers from 0 to 2^53, which every JSON reader can hold."""
    for name, count in counts:
        if count is not None and not 0 <= count <= _BIGGEST:
            raise unprocessable(f"{thing}: `{name}` has to be from 0 to 2^53, not {count}")
