"""The rows of workspaces, users and keys. Keys are looked up by their hash; everything else belongs to the operator's command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, insert, or_, select, update

from benchloop_server.kit.principal import Principal
from benchloop_server.sql.access import keys, users, workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """One key as the operator sees it: never the key itself. Times are microseconds; `expires_at` None: never."""

    key_id: str
    workspace_id: str
    user: str
    name: str
    hint: str
    scopes: str
    created_at: int
    revoked_at: int | None = None
    expires_at: int | None = None
    last_used_at: int | None = None


_SHOWN = [keys.c[name] for name in KeyRow.__slots__]


def _alive(which: ColumnElement[bool]) -> Select[Any]:
    alive = (keys.c.revoked_at.is_(None), or_(keys.c.expires_at.is_(None), keys.c.expires_at > bindparam("now")))
    return select(keys.c.workspace_id, keys.c.user, keys.c.key_id, keys.c.scopes).where(which, *alive)


#: Made once: every request asks one of these, and making a statement costs more than the answer.
_BY_HASH, _BY_ID = _alive(keys.c.hash == bindparam("digest")), _alive(keys.c.key_id == bindparam("id"))


def principal_by_hash(connection: Connection, digest: str, *, now: int) -> Principal | None:
    """Whose key this is; None when it is unknown, revoked or past its end."""
    return _principal(connection.execute(_BY_HASH, {"digest": digest, "now": now}).one_or_none())


def principal_by_id(connection: Connection, key_id: str, *, now: int) -> Principal | None:
    """As `principal_by_hash`, by the key's id."""
    return _principal(connection.execute(_BY_ID, {"id": key_id, "now": now}).one_or_none())


def _principal(row: Row[Any] | None) -> Principal | None:
    if row is None:
        return None
    return Principal(workspace_id=row.workspace_id, user=row.user, key_id=row.key_id, scopes=frozenset(row.scopes.split(",")))


def add_key(connection: Connection, key: KeyRow, *, digest: str) -> None:
    """Keep a key, and its workspace and user if they are new."""
    if connection.execute(select(workspaces).where(workspaces.c.workspace_id == key.workspace_id)).first() is None:
        connection.execute(insert(workspaces).values(workspace_id=key.workspace_id, created_at=key.created_at))
    if connection.execute(select(users).where(users.c.workspace_id == key.workspace_id, users.c.user == key.user)).first() is None:
        connection.execute(insert(users).values(workspace_id=key.workspace_id, user=key.user, created_at=key.created_at))
    values = {name: getattr(key, name) for name in KeyRow.__slots__}
    connection.execute(insert(keys).values(hash=digest, **values))


def find_key(connection: Connection, principal: Principal) -> KeyRow | None:
    """The key that the caller sent."""
    mine = (keys.c.workspace_id == principal.workspace_id, keys.c.key_id == principal.key_id)
    row = connection.execute(select(*_SHOWN).where(*mine)).one_or_none()
    return None if row is None else KeyRow(**row._mapping)


def all_keys(connection: Connection) -> list[KeyRow]:
    """Every key of every workspace, oldest first."""
    rows = connection.execute(select(*_SHOWN).order_by(keys.c.created_at, keys.c.key_id))
    return [KeyRow(**row._mapping) for row in rows]


def keys_of(connection: Connection, principal: Principal, *, limit: int) -> list[KeyRow]:
    """The keys of the caller's workspace, newest first, those that still work before the others."""
    mine = select(*_SHOWN).where(keys.c.workspace_id == principal.workspace_id)
    order = (keys.c.revoked_at.is_not(None), keys.c.created_at.desc(), keys.c.key_id)
    return [KeyRow(**row._mapping) for row in connection.execute(mine.order_by(*order).limit(limit))]


def owner_of(connection: Connection, principal: Principal, key_id: str) -> str | None:
    """Whose key of the workspace this is; None when there is none with this id."""
    mine = (keys.c.workspace_id == principal.workspace_id, keys.c.key_id == key_id)
    return connection.execute(select(keys.c.user).where(*mine)).scalar()


def note_use(connection: Connection, uses: Mapping[str, int]) -> None:
    """Keep when these keys were last used (microseconds); what is there and later stays."""
    for key_id, at in sorted(uses.items()):
        earlier = or_(keys.c.last_used_at.is_(None), keys.c.last_used_at < at)
        connection.execute(update(keys).where(keys.c.key_id == key_id, earlier).values(last_used_at=at))


def revoke(connection: Connection, key_id: str, *, at: int) -> bool:
    """Mark the key revoked; False when there is none with this id. A second time changes nothing."""
    found = connection.execute(select(keys.c.key_id).where(keys.c.key_id == key_id)).first() is not None
    connection.execute(update(keys).where(keys.c.key_id == key_id, keys.c.revoked_at.is_(None)).values(revoked_at=at))
    return found
