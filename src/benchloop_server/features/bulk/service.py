"""Bulk bodies, planned in one snapshot of the database: length and version are known before the first byte, later changes tear nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from benchloop_client.contract.bulk import BULK_KINDS, BulkItem
from benchloop_client.contract.trajectory import absent_document
from benchloop_server.features.artifacts import service as artifacts
from benchloop_server.features.bulk import repository
from benchloop_server.features.bulk.plan import ItemKind, Plan, name_of
from benchloop_server.features.downloads import service as downloads
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.trajectories.frames import OPENING_FRAME
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.db import Connection, Row
from benchloop_server.kit.errors import not_found
from benchloop_server.kit.pieces import Piece, cut, stream
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.kit.spool import Spool
from benchloop_server.kit.verified import DamagedBlob, Place, read_part, read_whole
from benchloop_server.sql.identities import unrecorded_of
from benchloop_server.sql.places import place_of
from benchloop_server.sql.records import ServedInfo

_NOTHING = hashlib.sha256().hexdigest()
#: Of an archive that is longer than this only the blocks that are needed are read where a part of it is sent.
_LONG = 4 << 20
_served = msgspec.json.Decoder(ServedInfo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which jobs, and what of them: all of a group, or those of a download task."""

    kind: str
    group_id: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True)
class Bulk:
    """A planned body. One of metadata is in `spool`, unless only the plan was asked for. `key`: where it is among the recent ones."""

    key: Hashable
    plan: Plan
    spool: Spool | None = None


def plan(services: Services, principal: Principal, asked: Asked, *, body: bool) -> Bulk:
    """Plan what is asked for; without `body` only version, length and index can be had. Raises `DomainError` (404): kind, group or task."""
    if asked.kind not in BULK_KINDS:
        raise not_found("bulk kind", asked.kind)
    task = downloads.get(services, principal, asked.task_id) if asked.task_id else None
    with services.db.read() as connection:
        version = groups.version(connection, principal, asked.group_id if task is None else str(task.group_id))
    key = ("bulk", principal.workspace_id, asked, version, body and asked.kind == "metadata")
    job_ids = None if task is None else task.job_ids

    def make() -> Bulk:
        spool = Spool(services.scratch) if body and asked.kind == "metadata" else None
        return Bulk(key, _plan(services, principal, asked, job_ids, spool), spool)

    return services.recent.get(key, make, weight=lambda made: made.plan.held)


def _plan(services: Services, principal: Principal, asked: Asked, job_ids: Sequence[str] | None, spool: Spool | None) -> Plan:
    with services.db.read() as connection:
        if asked.kind == "metadata":
            return _metadata(jobs.meta_texts(connection, principal, group_id=asked.group_id, job_ids=job_ids), spool)
        if asked.kind == "artifacts":
            return _artifacts(_rows(connection, principal, "archive", asked, job_ids))
        return _trajectories(services, _rows(connection, principal, "trajectory", asked, job_ids))


def body_bytes(services: Services, principal: Principal, bulk: Bulk, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of the body, verified."""
    if bulk.spool is not None:
        yield from bulk.spool.read(start, stop)
        return
    first, before = bulk.plan.find(start)
    pieces: Iterator[Piece] = bulk.plan.pieces(first)
    if (start, stop) != (before, bulk.plan.length):
        pieces = cut(bulk.plan.pieces(first), start - before, stop - before)
    edges = {bulk.plan.place(number): bulk.plan.job_id(number) for number in (first, bulk.plan.find(stop - 1)[0])} if start < stop else {}

    def part(blobs: BlobStore, place: Place, start: int, stop: int) -> Iterator[bytes]:
        if place.length > _LONG and bulk.plan.kind == "artifact":
            return artifacts.part_of_archive(services, principal, edges[place], place, (start, stop))
        return read_part(blobs, place, start=start, stop=stop)

    try:
        yield from stream(pieces, services.blobs, part=part)
    except DamagedBlob:
        services.recent.forget(bulk.key)  # perhaps it only lies elsewhere by now
        raise


def _rows(
    connection: Connection, principal: Principal, kind: repository.Kind, asked: Asked, job_ids: Sequence[str] | None
) -> Iterator[tuple[str, Row[Any] | None]]:
    if job_ids is not None:
        return repository.of_jobs(connection, principal, kind, job_ids)
    return ((row.job_id, row) for row in repository.of_group(connection, principal, kind, asked.group_id))


def _trajectories(services: Services, rows: Iterable[tuple[str, Row[Any] | None]]) -> Plan:
    planned = Plan("trajectory", lead=OPENING_FRAME)
    for job_id, row in rows:
        if row is None:
            planned.add(_nothing("trajectory", job_id, gone=True))
        elif row.blob is None:
            document = absent_document(unrecorded_of(row))
            planned.add(_own("trajectory", job_id, document, absent=True), document)
        else:
            place = place_of(row)
            planned.add(
                BulkItem(
                    job_id=job_id,
                    kind="trajectory",
                    length=len(OPENING_FRAME) + place.length,
                    size=row.document_bytes,
                    encoding="zstd",
                    sha256=_served.decode(row.info_json).served_sha256 or _served_digest(services, place),
                ),
                place,
            )
    return planned


def _artifacts(rows: Iterable[tuple[str, Row[Any] | None]]) -> Plan:
    planned = Plan("artifact")
    for job_id, row in rows:
        if row is None or row.blob is None:
            planned.add(_nothing("artifact", job_id, gone=row is None))
            continue
        place = place_of(row)
        name = name_of("artifact", job_id)
        planned.add(
            BulkItem(job_id=job_id, kind="artifact", length=place.length, size=row.size, encoding=None, sha256=place.sha256, name=name),
            place,
        )
    return planned


def _metadata(texts: Iterable[tuple[str, bytes | None]], spool: Spool | None) -> Plan:
    planned = Plan("metadata")
    for job_id, text in texts:
        line = planned.add(_nothing("metadata", job_id, gone=True) if text is None else _own("metadata", job_id, text))
        if spool is not None:
            spool.write(line)
            spool.write(text or b"")
    return planned


def _own(kind: ItemKind, job_id: str, text: bytes, *, absent: bool = False) -> BulkItem:
    digest = hashlib.sha256(text).hexdigest()
    return BulkItem(job_id=job_id, kind=kind, length=len(text), size=len(text), encoding=None, sha256=digest, absent=absent)


def _nothing(kind: ItemKind, job_id: str, *, gone: bool) -> BulkItem:
    name = name_of(kind, job_id)
    return BulkItem(job_id=job_id, kind=kind, length=0, size=0, encoding=None, sha256=_NOTHING, name=name, absent=True, gone=gone)


def _served_digest(services: Services, place: Place) -> str:
    """For what was stored before its digest was noted."""
    digest = hashlib.sha256(OPENING_FRAME)
    for chunk in read_whole(services.blobs, place):
        digest.update(chunk)
    return digest.hexdigest()
