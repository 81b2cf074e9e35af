"""Cursors: the place after which the next page begins, as one opaque word."""

from __future__ import annotations

import base64
import binascii

import msgspec

from benchloop_server.kit.errors import bad_request

_FOREIGN = "`cursor` is not one that this server gave out"

Value = str | float | None


def pack(micros: int, name: str) -> str:
    """A cursor for the place after the row with this creation time and id."""
    return _word([micros, name])


def pack_place(order: str, value: Value, micros: int) -> str:
    """A cursor for the place of the row that has `value` in a list by `order`, and this creation time."""
    return _word([order, value, micros])


def unpack_place(cursor: str, order: str) -> tuple[Value, int]:
    """What `pack_place` was given. Raises `DomainError` (400) for anything that it did not make, or made for another order."""
    try:
        made_for, value, micros = msgspec.json.decode(_raw(cursor), type=tuple[str, str | int | float | None, int])
    except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError):
        raise bad_request(_FOREIGN) from None
    big = isinstance(value, int) and abs(value) >= 1 << 62
    if made_for != order or big or abs(micros) >= 1 << 62 or (isinstance(value, str) and "\0" in value):
        raise bad_request(_FOREIGN)
    return value, micros


def unpack(cursor: str) -> tuple[int, str]:
    """The place that `pack` was given. Raises `DomainError` (400) for anything that it did not make."""
    try:
        micros, name = msgspec.json.decode(_raw(cursor), type=tuple[int, str])
    except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError):
        raise bad_request(_FOREIGN) from None
    if abs(micros) >= 1 << 62 or "\0" in name:
        raise bad_request(_FOREIGN)
    return micros, name


def _word(place: list[Value]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def _raw(cursor: str) -> bytes:
    return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
