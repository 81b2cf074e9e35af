"""The rows of uploads. A row is written after its blobs are durable, and is what makes them exist for a workspace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select
from sqlalchemy.dialects import postgresql, sqlite

from benchloop_server.kit.principal import Principal
from benchloop_server.kit.verified import Place
from benchloop_server.sql.tables import uploads

#: Names in one query; SQLite and PostgreSQL both take far more.
_BATCH = 500
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


def known(connection: Connection, principal: Principal, kind: str, sha256: Sequence[str]) -> set[str]:
    """Which of these the caller's workspace has."""
    return {row.sha256 for row in rows(connection, principal, kind, sha256)}


def rows(connection: Connection, principal: Principal, kind: str, sha256: Sequence[str]) -> Iterator[Row[Any]]:
    """The rows of those that the caller's workspace has."""
    names = list(dict.fromkeys(sha256))
    for at in range(0, len(names), _BATCH):
        mine = (uploads.c.workspace_id == principal.workspace_id, uploads.c.kind == kind)
        yield from connection.execute(select(uploads).where(*mine, uploads.c.sha256.in_(names[at : at + _BATCH])))


def add(connection: Connection, principal: Principal, kept: Kept, *, now: int) -> bool:
    """Write the row; False when the workspace has it already."""
    statement = _INSERT[connection.dialect.name](uploads).on_conflict_do_nothing()
    index = kept.index
    values = {
        "workspace_id": principal.workspace_id,
        "created_at": now,
        "kind": kept.kind,
        "sha256": kept.sha256,
        "size": kept.size,
        "blob": kept.stored.blob,
        "blob_offset": kept.stored.offset,
        "stored_size": kept.stored.length,
        "stored_sha256": kept.stored.sha256,
        "info_json": kept.info_json,
    }
    if index is not None:
        values |= {"index_blob": index.blob, "index_offset": index.offset, "index_size": index.length, "index_sha256": index.sha256}
    return bool(connection.execute(statement.values(values)).rowcount == 1)
