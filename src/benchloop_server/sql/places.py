"""Where uploads lie in the blob store, read from their rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from benchloop_server.kit.verified import Place
from benchloop_server.sql.tables import uploads

#: The columns that `place_of` reads.
PLACE: list[Any] = [uploads.c.blob, uploads.c.blob_offset, uploads.c.stored_size, uploads.c.stored_sha256]
#: The columns that `index_of` reads.
INDEX: list[Any] = [uploads.c.index_blob, uploads.c.index_offset, uploads.c.index_size, uploads.c.index_sha256]


def place_of(row: Row[Any]) -> Place:
    """Where the stored form of an upload is."""
    return Place(row.blob, row.blob_offset, row.stored_size, row.stored_sha256)


def index_of(row: Row[Any]) -> Place:
    """Where the index of a trajectory or archive is."""
    return Place(row.index_blob, row.index_offset, row.index_size, row.index_sha256)
