"""A job's artifacts: the one archive, parts of it, the files inside, and the archives of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from benchloop_client.contract.compression import BadFrames
from benchloop_client.contract.ids import file_name
from benchloop_client.contract.operations import OPERATIONS
from benchloop_client.contract.resources import Artifact, ArtifactMembers, GroupArtifact, GroupArtifactPage, JobArtifacts, Member
from benchloop_server.features.artifacts import archive_index, repository
from benchloop_server.features.artifacts.archive_index import ArchiveIndex
from benchloop_server.features.artifacts.tar_entry import BadArchive
from benchloop_server.features.groups import service as groups
from benchloop_server.kit import cursors
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.db import Row
from benchloop_server.kit.errors import DomainError, bad_request, not_found
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.kit.verified import Blocks, Place, damaged, read_blocks, read_part, read_whole
from benchloop_server.sql.places import index_of, place_of
from benchloop_server.sql.records import ArchiveInfo

#: What the documented clients take for "there is none", as against a failure.
_ABSENT = "no_artifact"


@dataclass(frozen=True, slots=True)
class Archive:
    """A job's archive in the store, the index of its files, and its file name."""

    place: Place
    index: Place
    name: str


def archive(services: Services, principal: Principal, job_id: str) -> Archive:
    """Where the job's archive is. Raises `DomainError` (404), also for a job without artifacts."""
    row = _row(services, principal, job_id)
    if row.sha256 is None:
        raise not_found("the artifact of job", job_id)
    return Archive(place_of(row), index_of(row), archive_name(job_id))


def listed(services: Services, principal: Principal, job_id: str) -> JobArtifacts:
    """E25: the one archive, or one entry that says that there is none. Raises `DomainError` (404) for an unknown job."""
    row = _row(services, principal, job_id)
    if row.sha256 is None:
        return JobArtifacts(job_id=job_id, artifacts=[Artifact(name=archive_name(job_id), url="", error_code=_ABSENT)])
    return JobArtifacts(job_id=job_id, artifacts=[Artifact(**_facts(row))])


def page(services: Services, principal: Principal, group_id: str, *, limit: int, skip: int, cursor: str | None) -> GroupArtifactPage:
    """The archives of a group's jobs. Raises `DomainError`: 404 for an unknown group, 400 for an unusable cursor."""
    if cursor is not None and skip:
        raise bad_request("`cursor` and `skip` exclude each other")
    after = cursors.unpack(cursor) if cursor is not None else None
    limit = min(limit, services.limits.page)
    with services.db.read() as connection:
        version = groups.version(connection, principal, group_id)
        # Counting reads every job of the group: once, not for each of a thousand pages.
        key = ("artifacts", principal.workspace_id, group_id, version)
        total = services.recent.get(key, lambda: repository.count(connection, principal, group_id), weight=lambda _: 1000)
        rows = repository.page(connection, principal, group_id, limit=limit + 1, skip=skip, after=after)
    kept = rows[:limit]
    more = cursors.pack(kept[-1].created_at, kept[-1].job_id) if len(rows) > limit else None
    found = [GroupArtifact(job_id=row.job_id, group_id=group_id, **_facts(row)) for row in kept]
    return GroupArtifactPage(group_id=group_id, total=total, artifacts=found, next_cursor=more)


def archive_bytes(services: Services, found: Archive, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of the archive, verified; a part costs only the blocks it lies in."""
    if (start, stop) == (0, found.place.length):
        return read_whole(services.blobs, found.place)
    return _blocks(services, found, start, stop)


def part_of_archive(services: Services, principal: Principal, job_id: str, place: Place, part: tuple[int, int]) -> Iterator[bytes]:
    """Bytes `part` (start, stop) of the archive at `place`, which is or was the job's; only the blocks they lie in where it still is."""
    start, stop = part
    try:
        found = archive(services, principal, job_id)
    except DomainError:
        return read_part(services.blobs, place, start=start, stop=stop)
    if found.place.sha256 != place.sha256:
        return read_part(services.blobs, place, start=start, stop=stop)
    return archive_bytes(services, found, start=start, stop=stop)


def members(services: Services, principal: Principal, job_id: str) -> ArtifactMembers:
    """The files inside the job's archive. Raises `DomainError` (404)."""
    found = _index(services, archive(services, principal, job_id)).members
    return ArtifactMembers(job_id=job_id, total=len(found), members=list(found))


def member(services: Services, found: Archive, path: str) -> Member:
    """One file inside the archive. Raises `DomainError` (404)."""
    for each in _index(services, found).members:
        if each.path == path:
            return each
    raise not_found("artifact file", path)


def member_bytes(services: Services, found: Archive, wanted: Member) -> Iterator[bytes]:
    """The plain bytes of one file, verified: the last ones are given only when length and digest are right."""
    stored = _blocks(services, found, wanted.offset, wanted.offset + wanted.length)
    try:
        yield from archive_index.member_bytes(wanted, stored)
    except BadArchive as error:
        raise damaged(found.place.blob, str(error)) from error


def files_of(blobs: BlobStore, place: Place, index: Place, *, wanted: Callable[[str], bool]) -> Iterator[tuple[Member, Iterator[bytes]]]:
    """The files of an archive whose paths are wanted, in its order, each with its plain bytes, to be read before the next one is asked for.
    Raises `DamagedBlob`.
    """
    found = _read_index(blobs, index)
    blocks = Blocks(archive_index.BLOCK, found.blocks)
    for member in found.members:
        if wanted(member.path):
            stored = read_blocks(blobs, place, blocks, start=member.offset, stop=member.offset + member.length)
            yield member, archive_index.member_bytes(member, stored)


def _row(services: Services, principal: Principal, job_id: str) -> Row[Any]:
    with services.db.read() as connection:
        row = repository.archive(connection, principal, job_id)
    if row is None:
        raise not_found("job", job_id)
    return row


def _blocks(services: Services, found: Archive, start: int, stop: int) -> Iterator[bytes]:
    blocks = Blocks(archive_index.BLOCK, _index(services, found).blocks)
    return read_blocks(services.blobs, found.place, blocks, start=start, stop=stop)


def _index(services: Services, found: Archive) -> ArchiveIndex:
    return _read_index(services.blobs, found.index)


def _read_index(blobs: BlobStore, index: Place) -> ArchiveIndex:
    try:
        return archive_index.decode_index(b"".join(read_whole(blobs, index)))
    except BadFrames as error:
        raise damaged(index.blob, str(error)) from error


def _facts(row: Row[Any]) -> dict[str, Any]:
    return {
        "name": archive_name(row.job_id),
        "url": OPERATIONS["job_artifact_bytes"].url_path(job_id=row.job_id),
        "size": row.size,
        "sha256": row.sha256,
        "etag": f'"{row.sha256}"',
        "members": msgspec.json.decode(row.info_json, type=ArchiveInfo).members,
    }


def archive_name(job_id: str) -> str:
    """The file name of a job's archive, as E25 lists it."""
    return file_name(f"{job_id}.tgz")
