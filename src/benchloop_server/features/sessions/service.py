"""Signing in with a key: the browser gets a word of its own in a cookie, never the key.

The word changes every quarter of an hour of use, ends after twelve hours without use and after seven days in any case, and is worth nothing
from the moment on at which its key is revoked or ends.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, replace

from benchloop_server.features.accounts import service as accounts
from benchloop_server.features.sessions import repository
from benchloop_server.features.sessions.repository import SessionRow
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail

_SECOND = 1_000_000
ROTATE_AFTER = 15 * 60 * _SECOND
IDLE = 12 * 3600 * _SECOND
LONGEST = 7 * 24 * 3600 * _SECOND
#: How long a word that was replaced is still taken: requests of the same page are under way side by side.
_GRACE = 60 * _SECOND
_WORD = re.compile(r"[A-Za-z0-9_-]{43}\Z")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who a browser is signed in as. `word`: what its cookie has to hold from now on, None where that stays."""

    principal: Principal
    word: str | None = None


def sign_in(services: Services, key: str) -> Visitor | None:
    """A session for the owner of the key; None for a key that is worth nothing."""
    principal = services.identify(key.strip())
    if principal is None:
        return None
    word, now = secrets.token_urlsafe(32), services.clock()
    row = SessionRow(
        session_id=secrets.token_hex(10),
        workspace_id=principal.workspace_id,
        key_id=principal.key_id,
        hash=_digest(word),
        former_hash=None,
        created_at=now,
        rotated_at=now,
        expires_at=now + IDLE,
    )
    with services.db.write() as connection:
        repository.add(connection, row)
        trail.record(connection, principal, trail.Event("session.begin", row.session_id), at=now)
    return Visitor(principal, word)


def visitor(services: Services, word: str) -> Visitor | None:
    """Whose session this is; None when it is unknown or over, or its key is."""
    if not _WORD.match(word):
        return None
    now = services.clock()
    with services.db.read() as connection:
        row = repository.find(connection, _digest(word), now=now, former_until=now - _GRACE)
        principal = None if row is None else accounts.owner(connection, row.key_id, now=now)
    if row is None or principal is None:
        return None
    if now - row.rotated_at < ROTATE_AFTER or row.hash != _digest(word):
        return Visitor(principal)
    fresh = secrets.token_urlsafe(32)
    ends = min(now + IDLE, row.created_at + LONGEST)
    with services.db.write() as connection:
        turned = repository.rotate(
            connection, row, replace(row, hash=_digest(fresh), former_hash=row.hash, rotated_at=now, expires_at=ends)
        )
    return Visitor(principal, fresh if turned else None)


def sign_out(services: Services, word: str) -> None:
    """End the session, if there is one."""
    if _WORD.match(word):
        with services.db.write() as connection:
            repository.remove(connection, _digest(word))


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode("ascii")).hexdigest()
