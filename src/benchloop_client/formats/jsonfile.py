"""Small JSON files of a run, read leniently and with a limit; what cannot be read is told in one sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchloop_client.contract.trajectory import InvalidTrajectory, load

#: Largest JSON file that is read whole, in bytes.
MAX_JSON_BYTES = 512 * 1024 * 1024


class Unreadable(ValueError):
    """A file that is no JSON object we can read; the message is a sentence without the file's name."""


def read_bytes(path: Path, limit: int = MAX_JSON_BYTES) -> bytes:
    """The file's bytes. Raises `Unreadable` when it is too large or cannot be opened."""
    try:
        with open(path, "rb") as stream:
            # Room is made for as much as is asked for: not for the limit.
            raw = stream.read(min(os.fstat(stream.fileno()).st_size, limit) + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None
    if len(raw) > limit:
        raise Unreadable(f"is larger than {limit} bytes")
    return raw


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises `Unreadable`."""
    try:
        value, _ = load(read_bytes(path))
    except InvalidTrajectory as error:
        raise Unreadable(f"cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable("holds no JSON object")
    return value


def find_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, None when there is no such file. Raises `Unreadable`."""
    return read_object(path) if os.path.isfile(path) else None  # noqa: PTH113 - this runs several times for every job


def text(value: Any) -> str | None:
    """A JSON value if it is text with something in it."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int | None:
    """A JSON value if it is a whole number of at least 0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def number(value: Any) -> float | None:
    """A JSON number, or true and false as 1 and 0, as a float."""
    try:
        return float(value) if isinstance(value, (int, float)) else None
    except OverflowError:
        return None


def mapping(value: Any) -> dict[str, Any]:
    """A JSON value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """A JSON value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
