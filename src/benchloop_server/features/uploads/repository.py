"""The rows of uploads. A row is written after its blobs are durable, and is what makes them exist for a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects import postgresql, sqlite

from benchloop_server.kit.principal import Principal
from benchloop_server.kit.verified import Place
from benchloop_server.sql.tables import counters, uploads

#: Names in one query; SQLite and PostgreSQL both take far more.
_BATCH = 500
_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An upload that is there: its plain length, and whether it is marked as unused."""

    size: int
    forsaken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An upload whose blobs are durable: what its row will say."""

    kind: str
    sha256: str
    size: int
    stored: Place
    index: Place | None
    info_json: str


def find(connection: Connection, principal: Principal, kind: str, sha256: Iterable[str]) -> dict[str, Found]:
    """Those of these that the caller's workspace has."""
    found: dict[str, Found] = {}
    columns = (uploads.c.sha256, uploads.c.size, uploads.c.unused_since)
    for chunk in _chunks(sha256):
        rows = connection.execute(select(*columns).where(*_of_these(principal, kind, chunk)))
        found |= {row.sha256: Found(size=int(row.size), forsaken=row.unused_since is not None) for row in rows}
    return found


def count_on(connection: Connection, principal: Principal, kind: str, sha256: Iterable[str]) -> None:
    """Take the marks away: somebody is about to name these."""
    for chunk in _chunks(sha256):
        connection.execute(update(uploads).where(*_of_these(principal, kind, chunk)).values(unused_since=None))


def hold_blobs(connection: Connection) -> None:
    """Until the transaction ends nobody removes a blob; others may hold them too."""
    connection.execute(select(counters.c.value).where(counters.c.name == "blobs").with_for_update(read=True))


def add(connection: Connection, principal: Principal, kept: Sequence[Kept], *, now: int) -> set[tuple[str, str]]:
    """Write the rows of those that the workspace does not have yet; returns (kind, sha256) of these."""
    had = {(kind, name) for kind in {item.kind for item in kept} for name in find(connection, principal, kind, _names(kept, kind))}
    new = {(item.kind, item.sha256): _values(item, principal, now) for item in kept if (item.kind, item.sha256) not in had}
    if new:
        # Another process may be writing the same upload: then its row stands, and says the same.
        connection.execute(_INSERT[connection.dialect.name](uploads).on_conflict_do_nothing(), list(new.values()))
    return set(new)


def _chunks(sha256: Iterable[str]) -> Iterator[list[str]]:
    names = list(dict.fromkeys(sha256))
    for at in range(0, len(names), _BATCH):
        yield names[at : at + _BATCH]


def _of_these(principal: Principal, kind: str, names: list[str]) -> tuple[Any, ...]:
    return uploads.c.workspace_id == principal.workspace_id, uploads.c.kind == kind, uploads.c.sha256.in_(names)


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
