"""Where the stored pieces of a group's jobs lie, and moving their rows to a pack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from benchloop_server.kit.verified import Place
from benchloop_server.sql.places import INDEX, PLACE
from benchloop_server.sql.tables import counters, groups, job_media, jobs, retired_blobs, uploads

_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_PAGE = 2_000


@dataclass(frozen=True, slots=True)
class Shelf:
    """What is packed together: one kind of upload, and of it the stored form or the index."""

    kind: str
    index: bool

    @property
    def columns(self) -> list[Any]:
        """The four columns of the place: blob, offset, length, digest."""
        return INDEX if self.index else PLACE


@dataclass(frozen=True, slots=True)
class Piece:
    """One stored piece of the group: the upload it belongs to, and where it lies."""

    sha256: str
    place: Place


#: Each is packed by itself: who reads all trajectories of a group then reads nothing else.
SHELVES = (Shelf("trajectory", False), Shelf("trajectory", True), Shelf("archive", False), Shelf("archive", True), Shelf("media", False))


#: Where a page of pieces ended: creation time and id of a job.
Mark = tuple[int, str]


def pieces(
    connection: Connection, workspace_id: str, group_id: str, *, shelf: Shelf, after: Mark | None
) -> tuple[list[Piece], Mark | None]:
    """The next of the group's pieces in the order of the job list, and the mark to go on from (None: that was all). A piece that several
    jobs share comes several times.
    """
    rows = connection.execute(_page(workspace_id, group_id, shelf, after)).all()
    return [Piece(row.sha256, Place(*row[3:])) for row in rows], (rows[-1].created_at, rows[-1].job_id) if rows else None


def is_complete(connection: Connection, workspace_id: str, group_id: str) -> bool:
    """Whether every job that the run planned is there; False where the plan is not known."""
    mine = (groups.c.workspace_id == workspace_id, groups.c.group_id == group_id)
    expected = connection.execute(select(groups.c.expected).where(*mine)).scalar()
    if expected is None:
        return False
    there = select(func.count()).select_from(jobs).where(jobs.c.workspace_id == workspace_id, jobs.c.group_id == group_id)
    return bool(connection.execute(there).scalar_one() >= expected)


def hold_blobs(connection: Connection) -> None:
    """Until the transaction ends nobody removes a blob; others may hold them too."""
    connection.execute(select(counters.c.value).where(counters.c.name == "blobs").with_for_update(read=True))


def move(connection: Connection, workspace_id: str, shelf: Shelf, *, moved: Iterable[tuple[Piece, Place]]) -> int:
    """Let the rows of pieces say their new places; a row that changed since it was read stays. Returns how many moved."""
    blob, offset, *_ = shelf.columns
    mine = (uploads.c.workspace_id == workspace_id, uploads.c.kind == shelf.kind, uploads.c.sha256 == bindparam("name"))
    as_read = (blob == bindparam("old_blob"), offset == bindparam("old_offset"))
    statement = update(uploads).where(*mine, *as_read).values({blob: bindparam("new_blob"), offset: bindparam("new_offset")})
    rows = [
        {
            "name": piece.sha256,
            "old_blob": piece.place.blob,
            "old_offset": piece.place.offset,
            "new_blob": place.blob,
            "new_offset": place.offset,
        }
        for piece, place in moved
    ]
    return connection.execute(statement, rows).rowcount


def retire(connection: Connection, blobs: Iterable[str], *, now: int) -> None:
    """Note that something was moved out of these blobs: somebody may be reading it there."""
    rows = [{"blob": name, "retired_at": now} for name in sorted(set(blobs))]
    insert = _INSERT[connection.dialect.name](retired_blobs)
    connection.execute(insert.on_conflict_do_update(index_elements=["blob"], set_={"retired_at": now}), rows)


def _page(workspace_id: str, group_id: str, shelf: Shelf, after: Mark | None) -> Any:
    """Select created_at, job_id, sha256 and the place of the next jobs that have such a piece."""
    columns: list[Any] = [jobs.c.created_at, jobs.c.job_id, uploads.c.sha256, *shelf.columns]
    joined = jobs.join(uploads, _same(shelf.kind)) if shelf.kind != "media" else jobs.join(job_media, _OF_JOB).join(uploads, _MEDIA)
    query = select(*columns).select_from(joined).where(jobs.c.workspace_id == workspace_id, jobs.c.group_id == group_id)
    query = query.where(shelf.columns[0].is_not(None))
    if after is not None:
        created_at, job_id = after
        later = or_(jobs.c.created_at > created_at, and_(jobs.c.created_at == created_at, jobs.c.job_id > job_id))
        query = query.where(later, jobs.c.created_at >= created_at)
    return query.order_by(jobs.c.created_at, jobs.c.job_id).limit(_PAGE if shelf.kind != "media" else None)


def _same(kind: str) -> ColumnElement[bool]:
    name = jobs.c.trajectory_sha256 if kind == "trajectory" else jobs.c.archive_sha256
    return and_(uploads.c.workspace_id == jobs.c.workspace_id, uploads.c.kind == kind, uploads.c.sha256 == name)


_OF_JOB = and_(job_media.c.workspace_id == jobs.c.workspace_id, job_media.c.job_id == jobs.c.job_id)
_MEDIA = and_(uploads.c.workspace_id == jobs.c.workspace_id, uploads.c.kind == "media", uploads.c.sha256 == job_media.c.sha256)
