"""Removes uploads that no job has named for a while, then the blobs in which no upload lies. Works beside running servers.

Deleting a group, or pushing a job with other content, leaves uploads behind: other jobs or groups may share them, other workspaces their
blobs, and a push under way may count on them. So an upload is first marked, and removed by a run that finds it marked for the whole grace
and still unused; a client that asks for it meanwhile takes the mark away. A blob goes when it is older than the grace and no row names it,
checked and removed while nobody can write a row that does; one out of which packing moved something is kept for the grace after that, too,
because a download may be in the middle of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from benchloop_server.features.reclaim import repository
from benchloop_server.kit.errors import conflict
from benchloop_server.kit.services import Services

_MICROS = 1_000_000
_HOUR = 3600 * _MICROS
#: Blobs that have to be there before anything is removed.
_SAMPLE = 20
#: Rows, and blobs, that are removed while writers wait.
_ROWS = 2_000
_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaimed:
    """What a run did: uploads removed, uploads found unused whose grace is not over, blobs removed and their bytes."""

    uploads: int
    waiting: int
    blobs: int
    bytes: int


def collect(services: Services, *, grace_hours: float) -> Reclaimed:
    """Remove what has been unused for `grace_hours`; with 0 at once, which a push under way may have to be repeated for.

    Raises `DomainError` (409) when the database and the blob store do not belong together.
    """
    has_uploads = _check_pair(services)
    now = services.clock()
    before = now - int(grace_hours * _HOUR)
    removed = waiting = 0
    with services.db.read() as connection:
        names = repository.all_workspaces(connection)
    for workspace_id in names:
        gone, left = _uploads(services, workspace_id, now=now, before=before)
        removed, waiting = removed + gone, waiting + left
    blobs, size = _blobs(services, before=before) if has_uploads else (0, 0)
    return Reclaimed(uploads=removed, waiting=waiting, blobs=blobs, bytes=size)


def _check_pair(services: Services) -> bool:
    """Whether there is any upload. To a wrong or empty database every blob would seem unused."""
    with services.db.read() as connection:
        some = list(islice(repository.blobs_in_use(connection), _SAMPLE))
    if not all(services.blobs.exists(name) for name in some):
        raise conflict("the database names blobs that are not in this blob store: do `--database` and `--blobs` belong together?")
    return bool(some)


def _uploads(services: Services, workspace_id: str, *, now: int, before: int) -> tuple[int, int]:
    """How many were removed, and how many unused ones are left. A job that is pushed meanwhile takes the marks from what it names."""
    with services.db.write() as connection:
        repository.hold_writers(connection)
        unused = repository.unused(connection, workspace_id)
        marked = repository.marked(connection, workspace_id)
        repository.mark(connection, workspace_id, marked.keys() - unused, since=None)
        repository.mark(connection, workspace_id, unused - marked.keys(), since=now)
    due = iter(sorted(name for name in unused if marked.get(name, now) <= before))
    removed = 0
    while part := list(islice(due, _ROWS)):
        with services.db.write() as connection:
            repository.hold_writers(connection)
            removed += repository.remove(connection, workspace_id, part, before=before)
    return removed, len(unused) - removed


def _blobs(services: Services, *, before: int) -> tuple[int, int]:
    with services.db.read() as connection:
        used = {bytes.fromhex(name) for name in repository.blobs_in_use(connection)}
        used.update(bytes.fromhex(name) for name in repository.recently_retired(connection, after=before))
    old = services.blobs.aged(before / _MICROS)
    free = ((name, size) for name, size in old if bytes.fromhex(name) not in used)
    removed = freed = 0
    for batch in _batches(free):
        with services.db.write() as connection:
            repository.hold_blobs(connection)
            wanted = repository.of_these_in_use(connection, list(batch))
            repository.forget_retired(connection, batch.keys() - wanted)
            for name in batch.keys() - wanted:
                services.blobs.delete(name)
                removed, freed = removed + 1, freed + batch[name]
    return removed, freed


def _batches(blobs: Iterator[tuple[str, int]]) -> Iterator[dict[str, int]]:
    while batch := dict(islice(blobs, _BATCH)):
        yield batch
