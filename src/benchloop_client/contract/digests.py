"""The digest of a body in its header (RFC 9530, `Content-Digest`), so that a byte which changed on the way does not pass as data."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

#: The header, as both sides name it in lower case.
CONTENT_DIGEST = "content-digest"
_SHA256 = re.compile(r"(?:^|,)[ \t]*sha-256=:([A-Za-z0-9+/=]*):")


def stated(body: bytes) -> str:
    """The value of the header for `body`."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode('ascii')}:"


def expected(value: str | None) -> bytes | None:
    """The SHA-256 that a header states, None where it states none that we know."""
    match = _SHA256.search(value or "")
    if match is None:
        return None
    try:
        return base64.b64decode(match[1], validate=True)
    except binascii.Error:
        return b""


def fits(body: bytes, value: str | None) -> bool:
    """Whether `body` is what the header says; true where it says nothing."""
    digest = expected(value)
    return digest is None or digest == hashlib.sha256(body).digest()
