"""The text of an API key: `blk_` + base62 of 32 random bytes + a checksum, so that a scanner can tell one."""

from __future__ import annotations

import hashlib
import secrets
import zlib

PREFIX = "blk_"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BODY, _CHECK = 43, 6


def mint() -> str:
    """A new key: 43 digits of 256 random bits, then 6 digits of CRC-32 over them."""
    body = _base62(int.from_bytes(secrets.token_bytes(32), "big"), _BODY)
    return f"{PREFIX}{body}{_checksum(body)}"


def is_well_formed(key: str) -> bool:
    """Whether the prefix, the length and the checksum fit."""
    body, check = key[len(PREFIX) : -_CHECK], key[-_CHECK:]
    return key.startswith(PREFIX) and len(key) == len(PREFIX) + _BODY + _CHECK and key.isascii() and check == _checksum(body)


def digest(key: str) -> str:
    """What is kept of a key: with 256 random bits, a fast hash is as good as a slow one."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode("ascii")), _CHECK)


def _base62(number: int, width: int) -> str:
    digits = []
    while number:
        number, rest = divmod(number, 62)
        digits.append(_DIGITS[rest])
    return "".join(reversed(digits)).rjust(width, "0")
