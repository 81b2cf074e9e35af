"""What a client asks for in headers: a range of bytes, a version it already has, a coding it can read. Pure functions of header texts."""

from __future__ import annotations

import re

_RANGE = re.compile(r"bytes=\s*(?:(\d{1,18})\s*-\s*(\d{1,18})?|-\s*(\d{1,18}))\s*\Z", re.ASCII | re.IGNORECASE)


class Unsatisfiable(ValueError):
    """A range that begins beyond the end."""


def byte_range(header: str | None, length: int) -> tuple[int, int] | None:
    """(start, stop), stop not included, of a single byte range clamped to `length`. None where the whole is to be sent: no header, another
    unit, several ranges, or a text that cannot be read. Raises `Unsatisfiable`.
    """
    match = _RANGE.match(header.strip()) if header else None
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start, stop = max(length - int(suffix), 0), length
    else:
        start, stop = int(first), length if last is None else min(int(last) + 1, length)
        if last is not None and int(last) < start:
            return None
    if start >= length or start >= stop:
        raise Unsatisfiable
    return start, stop


def has_version(if_none_match: str | None, etag: str) -> bool:
    """Whether the client said that it has this version already (weak comparison, as the standard asks for)."""
    if not if_none_match:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or tags == ["*"]


def range_applies(if_range: str | None, etag: str) -> bool:
    """Whether a range may be answered: no condition, or exactly this version (strong comparison; dates never match)."""
    return not if_range or if_range.strip() == etag


def accepts_zstd(accept_encoding: str | None) -> bool:
    """Whether the client lists `zstd` as a content coding it reads (`*` does not count: old clients that send it cannot)."""
    for part in (accept_encoding or "").lower().split(","):
        name, _, parameters = part.partition(";")
        if name.strip() == "zstd":
            return not re.match(r"\s*q\s*=\s*0(\.0*)?\s*\Z", parameters)
    return False
