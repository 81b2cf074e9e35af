"""Cursors: the place after which the next page begins, as one opaque word."""

from __future__ import annotations

import base64
import binascii

import msgspec

from benchloop_server.kit.errors import bad_request


def pack(micros: int, name: str) -> str:
    """A cursor for the place after the row with this creation time and id."""
    return base64.urlsafe_b64encode(msgspec.json.encode([micros, name])).decode().rstrip("=")


def unpack(cursor: str) -> tuple[int, str]:
    """The place that `pack` was given. Raises `DomainError` (400) for anything that it did not make."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        micros, name = msgspec.json.decode(raw, type=tuple[int, str])
    except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError):
        raise bad_request("`cursor` is not one that this server gave out") from None
    if abs(micros) >= 1 << 62 or "\0" in name:
        raise bad_request("`cursor` is not one that this server gave out")
    return micros, name
