"""Small JSON files of a run, read leniently and with a limit; what cannot be read is told in one sentence."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from benchloop_client.contract.trajectory import InvalidTrajectory, load

#: Largest JSON file that is read whole, in bytes.
MAX_JSON_BYTES = 512 * 1024 * 1024
#: A file up to this size is read with one call.
_AT_ONCE = 1 << 20
#: What stands in a file's place may be a pipe, which must not be waited for.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Unreadable(ValueError):
    """A file that is no JSON object we can read; the message is a sentence without the file's name."""


def read_bytes(path: Path, limit: int = MAX_JSON_BYTES) -> bytes:
    """The file's bytes. Raises `Unreadable` when it is too large or cannot be opened."""
    try:
        raw = _read(path, limit)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None
    if raw is None:
        raise Unreadable("cannot be read: it is no regular file")
    return raw


def find_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, None when there is no such file. Raises `Unreadable`."""
    try:
        raw = _read(path, MAX_JSON_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None
    return None if raw is None else _object(raw)


def _read(path: Path, limit: int) -> bytes | None:
    """The bytes of a regular file, None for anything else. Plain calls of the system: this runs several times for every job."""
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size <= _AT_ONCE:
            raw = os.read(descriptor, status.st_size + 1)
            if len(raw) == status.st_size:
                return raw
            os.lseek(descriptor, 0, os.SEEK_SET)
        with open(descriptor, "rb", closefd=False) as stream:
            raw = stream.read(min(status.st_size, limit) + 1)
    finally:
        os.close(descriptor)
    if len(raw) > limit:
        raise Unreadable(f"is larger than {limit} bytes")
    return raw


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value, _ = load(raw)
    except InvalidTrajectory as error:
        raise Unreadable(f"cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable("holds no JSON object")
    return value


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
