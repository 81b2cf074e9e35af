"""The rows of browser sessions. Only hashes of what cookies hold are kept."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from benchloop_server.sql.access import sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One signed-in browser; times are microseconds. `hash` names what its cookie holds, `former_hash` what it held before `rotated_at`."""

    session_id: str
    workspace_id: str
    key_id: str
    hash: str
    former_hash: str | None
    created_at: int
    rotated_at: int
    expires_at: int


_ALL = [sessions.c[name] for name in SessionRow.__slots__]


def find(connection: Connection, digest: str, *, now: int, former_until: int) -> SessionRow | None:
    """The session whose cookie has this hash, or had it until less than a grace ago (`former_until`: rotated after that time)."""
    former = and_(sessions.c.former_hash == digest, sessions.c.rotated_at > former_until)
    query = select(*_ALL).where(or_(sessions.c.hash == digest, former), sessions.c.expires_at > now)
    row = connection.execute(query).first()
    return None if row is None else SessionRow(**row._mapping)


def add(connection: Connection, row: SessionRow) -> None:
    """Keep a session, and forget those that are over."""
    connection.execute(delete(sessions).where(sessions.c.expires_at <= row.created_at))
    connection.execute(insert(sessions).values(**{name: getattr(row, name) for name in SessionRow.__slots__}))


def rotate(connection: Connection, old: SessionRow, new: SessionRow) -> bool:
    """Put `new` in the place of `old`; False when another request has done so already."""
    same = (sessions.c.session_id == old.session_id, sessions.c.hash == old.hash)
    values = {name: getattr(new, name) for name in ("hash", "former_hash", "rotated_at", "expires_at")}
    return connection.execute(update(sessions).where(*same).values(**values)).rowcount == 1


def remove(connection: Connection, digest: str) -> None:
    """End the session whose cookie has, or just had, this hash."""
    connection.execute(delete(sessions).where(or_(sessions.c.hash == digest, sessions.c.former_hash == digest)))
