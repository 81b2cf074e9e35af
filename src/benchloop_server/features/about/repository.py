"""How much a workspace keeps."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from benchloop_server.kit.principal import Principal
from benchloop_server.sql.tables import groups, jobs, uploads


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Rows of each sort, and the bytes in the blob store that they name."""

    groups: int
    jobs: int
    uploads: int
    stored_bytes: int


def kept(connection: Connection, principal: Principal) -> Kept:
    """What the caller's workspace keeps."""
    counted = {
        table.name: connection.execute(
            select(func.count()).select_from(table).where(table.c.workspace_id == principal.workspace_id)
        ).scalar_one()
        for table in (groups, jobs, uploads)
    }
    size = func.sum(uploads.c.stored_size + func.coalesce(uploads.c.index_size, 0))
    stored = connection.execute(select(size).where(uploads.c.workspace_id == principal.workspace_id)).scalar()
    return Kept(**counted, stored_bytes=int(stored or 0))
