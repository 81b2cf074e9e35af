"""The rows of uploads. A row is written after its blobs are durable, and is what makes them exist for a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from benchloop_server.kit.principal import Principal
from benchloop_server.kit.verified import Place
from benchloop_server.sql.tables import uploads

#: Names in one query; SQLite and PostgreSQL both take far more.
_BATCH = 500
_SIZE = select(uploads.c.size).where(
    uploads.c.workspace_id == bindparam("workspace"), uploads.c.kind == bindparam("kind"), uploads.c.sha256 == bindparam("sha256")
)
_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An upload whose blobs are durable: what its row will say."""

    kind: str
    sha256: str
    size: int
    stored: Place
    index: Place | None
    info_json: str


def known(connection: Connection, principal: Principal, kind: str, sha256: Iterable[str]) -> set[str]:
    """Which of these the caller's workspace has."""
    names = list(dict.fromkeys(sha256))
    found: set[str] = set()
    for at in range(0, len(names), _BATCH):
        mine = (uploads.c.workspace_id == principal.workspace_id, uploads.c.kind == kind)
        found.update(connection.execute(select(uploads.c.sha256).where(*mine, uploads.c.sha256.in_(names[at : at + _BATCH]))).scalars())
    return found


def size_of(connection: Connection, principal: Principal, kind: str, sha256: str) -> int | None:
    """Plain length of an upload, bytes; None when the caller's workspace does not have it."""
    row = connection.execute(_SIZE, {"workspace": principal.workspace_id, "kind": kind, "sha256": sha256}).first()
    return None if row is None else int(row.size)


def add(connection: Connection, principal: Principal, kept: Sequence[Kept], *, now: int) -> set[tuple[str, str]]:
    """Write the rows of those that the workspace does not have yet; returns (kind, sha256) of these."""
    had = {(kind, name) for kind in {item.kind for item in kept} for name in known(connection, principal, kind, _names(kept, kind))}
    new = {(item.kind, item.sha256): _values(item, principal, now) for item in kept if (item.kind, item.sha256) not in had}
    if new:
        # Another process may be writing the same upload: then its row stands, and says the same.
        connection.execute(_INSERT[connection.dialect.name](uploads).on_conflict_do_nothing(), list(new.values()))
    return set(new)


def _names(kept: Sequence[Kept], kind: str) -> list[str]:
    return [item.sha256 for item in kept if item.kind == kind]


def _values(kept: Kept, principal: Principal, now: int) -> dict[str, Any]:
    index = kept.index
    return {
        "workspace_id": principal.workspace_id,
        "created_at": now,
        "kind": kept.kind,
        "sha256": kept.sha256,
        "size": kept.size,
        "blob": kept.stored.blob,
        "blob_offset": kept.stored.offset,
        "stored_size": kept.stored.length,
        "stored_sha256": kept.stored.sha256,
        "index_blob": index.blob if index else None,
        "index_offset": index.offset if index else None,
        "index_size": index.length if index else None,
        "index_sha256": index.sha256 if index else None,
        "info_json": kept.info_json,
    }
