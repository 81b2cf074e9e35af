"""Which uploads no job names, which blobs no upload lies in, and the locks that keep both true while something is removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from sqlalchemy import ColumnElement, Connection, delete, except_, select, update

from benchloop_server.sql.access import workspaces
from benchloop_server.sql.tables import counters, job_media, jobs, retired_blobs, uploads

#: (kind, sha256) of an upload within its workspace.
Name = tuple[str, str]
_CHUNK = 500
_PAGE = 10_000


def hold_writers(connection: Connection) -> None:
    """Until the transaction ends no push commits jobs: what is unused stays unused. On SQLite a writing transaction says so already."""
    connection.execute(select(counters.c.value).where(counters.c.name == "created_at").with_for_update())


def hold_blobs(connection: Connection) -> None:
    """Until the transaction ends no upload is written that lies in a blob: what no row names stays unnamed."""
    connection.execute(select(counters.c.value).where(counters.c.name == "blobs").with_for_update())


def all_workspaces(connection: Connection) -> list[str]:
    """The ids of all workspaces."""
    return list(connection.execute(select(workspaces.c.workspace_id).order_by(workspaces.c.workspace_id)).scalars())


def unused(connection: Connection, workspace_id: str) -> set[Name]:
    """The uploads that no job of the workspace names."""
    of_jobs = jobs.c.workspace_id == workspace_id
    named = {
        "trajectory": select(jobs.c.trajectory_sha256).where(of_jobs, jobs.c.trajectory_sha256.is_not(None)),
        "archive": select(jobs.c.archive_sha256).where(of_jobs, jobs.c.archive_sha256.is_not(None)),
        "media": select(job_media.c.sha256).where(job_media.c.workspace_id == workspace_id),
    }
    found: set[Name] = set()
    for kind, hashes in named.items():
        mine = select(uploads.c.sha256).where(uploads.c.workspace_id == workspace_id, uploads.c.kind == kind)
        found.update((kind, sha256) for sha256 in connection.execute(except_(mine, hashes)).scalars())
    return found


def marked(connection: Connection, workspace_id: str) -> dict[Name, int]:
    """The uploads that were found unused before, and when."""
    columns = (uploads.c.kind, uploads.c.sha256, uploads.c.unused_since)
    rows = connection.execute(select(*columns).where(uploads.c.workspace_id == workspace_id, uploads.c.unused_since.is_not(None)))
    return {(row.kind, row.sha256): row.unused_since for row in rows}


def mark(connection: Connection, workspace_id: str, names: Iterable[Name], *, since: int | None) -> None:
    """Note that nothing names these uploads since then; None: that something does."""
    for these in _in_parts(workspace_id, names):
        connection.execute(update(uploads).where(*these).values(unused_since=since))


def remove(connection: Connection, workspace_id: str, names: Iterable[Name], *, before: int) -> int:
    """Delete the rows of these uploads, those excepted whose mark was taken away or is younger; returns how many."""
    removed = 0
    for these in _in_parts(workspace_id, names):
        removed += connection.execute(delete(uploads).where(*these, uploads.c.unused_since <= before)).rowcount
    return removed


def blobs_in_use(connection: Connection) -> Iterator[str]:
    """The blobs in which uploads or their indexes lie, some more than once."""
    for column in (uploads.c.blob, uploads.c.index_blob):
        query = select(column).where(column.is_not(None)).distinct().execution_options(yield_per=_PAGE)
        yield from connection.execute(query).scalars()


def of_these_in_use(connection: Connection, blobs: list[str]) -> set[str]:
    """Those of the blobs (at most a few hundred) in which something lies."""
    used: set[str] = set()
    for column in (uploads.c.blob, uploads.c.index_blob):
        used.update(connection.execute(select(column).where(column.in_(blobs)).distinct()).scalars())
    return used


def recently_retired(connection: Connection, *, after: int) -> Iterator[str]:
    """The blobs out of which something was moved later than that: a reader may be in the middle of one."""
    yield from connection.execute(select(retired_blobs.c.blob).where(retired_blobs.c.retired_at > after)).scalars()


def forget_retired(connection: Connection, blobs: Iterable[str]) -> None:
    """These blobs (some hundred) are gone."""
    connection.execute(delete(retired_blobs).where(retired_blobs.c.blob.in_(list(blobs))))


def _in_parts(workspace_id: str, names: Iterable[Name]) -> Iterator[tuple[ColumnElement[bool], ...]]:
    """Conditions for a few hundred of the uploads at a time, each found through the primary key."""
    for kind, group in groupby(sorted(names), key=itemgetter(0)):
        hashes = [sha256 for _, sha256 in group]
        for at in range(0, len(hashes), _CHUNK):
            yield uploads.c.workspace_id == workspace_id, uploads.c.kind == kind, uploads.c.sha256.in_(hashes[at : at + _CHUNK])
