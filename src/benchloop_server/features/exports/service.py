"""Exports of a group: planned in one snapshot of the database, so that the length is known and later changes cannot tear the stream."""

from __future__ import annotations

import hashlib

from benchloop_client.contract.operations import OPERATIONS
from benchloop_client.contract.resources import Export
from benchloop_client.contract.trajectory import absent_document
from benchloop_server.features.exports import manifest, repository
from benchloop_server.features.exports.manifest import Manifest, Row
from benchloop_server.features.exports.plan import Plan
from benchloop_server.features.groups import service as groups
from benchloop_server.kit.blobs import BlobMissing
from benchloop_server.kit.errors import not_found
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql.identities import unrecorded_of
from benchloop_server.sql.places import place_of

_DAY = 24 * 3600 * 1_000_000


def plan(services: Services, principal: Principal, group_id: str) -> Plan:
    """What the group's export holds now. Raises `DomainError` (404) for an unknown group."""
    with services.db.read() as connection:
        version = groups.version(connection, principal, group_id)
    key = ("export", principal.workspace_id, group_id, version)
    return services.recent.get(key, lambda: _plan(services, principal, group_id), weight=_held)


def named(services: Services, principal: Principal, group_id: str) -> tuple[str, Plan]:
    """As `plan`, and a name under which exactly this can be had for a day and more, whatever becomes of the group's jobs."""
    planned = plan(services, principal, group_id)
    kept = Manifest(
        workspace_id=principal.workspace_id,
        group_id=group_id,
        version=planned.version,
        day=services.clock() // _DAY,
        rows=[Row(*source) for source in planned.sources()],
    )
    raw = manifest.encoded(kept)
    blob = hashlib.sha256(raw).hexdigest()
    services.blobs.put_bytes(blob, raw)
    name = manifest.name_of(blob)
    services.recent.get(_key(principal, group_id, name), lambda: planned, weight=_held)
    return name, planned


def by_name(services: Services, principal: Principal, group_id: str, name: str) -> Plan:
    """What `named` gave under this name. Raises `DomainError` (404): unknown group or name, or its bytes were given back since."""
    with services.db.read() as connection:
        groups.require(connection, principal, group_id)
    return services.recent.get(_key(principal, group_id, name), lambda: _by_name(services, principal, group_id, name), weight=_held)


def state(name: str, planned: Plan) -> Export:
    """The answer of E12 and E13: the export is always ready, because it is joined while it is sent."""
    url = OPERATIONS["group_export_file"].url_path(group_id=planned.group_id, download_job_name=name)
    return Export(status="succeeded", download_job_name=name, download_url=url, total=planned.recorded)


def _key(principal: Principal, group_id: str, name: str) -> tuple[str, ...]:
    return "named export", principal.workspace_id, group_id, name


def _held(planned: Plan) -> int:
    return planned.held


def _plan(services: Services, principal: Principal, group_id: str) -> Plan:
    planned = Plan(group_id)
    with services.db.read() as connection:
        for row in repository.trajectories(connection, principal, group_id):
            if row.document_bytes is None:
                planned.add_absent(absent_document(unrecorded_of(row)))
            else:
                planned.add(row.job_id, place_of(row), source=row.source, document_bytes=row.document_bytes)
    return planned


def _by_name(services: Services, principal: Principal, group_id: str, name: str) -> Plan:
    found = _manifest(services, name)
    if found is None or (found.workspace_id, found.group_id) != (principal.workspace_id, group_id):
        raise not_found("export", name)
    with services.db.read() as connection:
        places = repository.places(connection, principal, (row.sha256 for row in found.rows))
    planned = Plan(group_id)
    for row in found.rows:
        if row.sha256 not in places:
            raise not_found("export", name)
        planned.add(row.job_id, places[row.sha256], source=row.sha256, document_bytes=row.document_bytes)
    return planned


def _manifest(services: Services, name: str) -> Manifest | None:
    blob = manifest.blob_of(name)
    try:
        if blob is None or services.blobs.size(blob) > manifest.MAX_BYTES:
            return None
        return manifest.decoded(services.blobs.read(blob))
    except BlobMissing:
        return None
