"""Exports of a group: planned in one snapshot of the database, so that the length is known and later changes cannot tear the stream."""

from __future__ import annotations

from benchloop_client.contract.operations import OPERATIONS
from benchloop_client.contract.resources import Export
from benchloop_client.contract.trajectory import absent_document
from benchloop_server.features.exports import repository
from benchloop_server.features.exports.plan import Plan
from benchloop_server.features.groups import service as groups
from benchloop_server.kit.errors import not_found
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql.identities import unrecorded_of
from benchloop_server.sql.places import place_of


def plan(services: Services, principal: Principal, group_id: str, *, name: str | None = None) -> Plan:
    """What the group's export holds now. Raises `DomainError` (404) for an unknown group, or for a `name` that is not this content's."""
    planned = Plan(group_id)
    with services.db.read() as connection:
        groups.require(connection, principal, group_id)
        for row in repository.trajectories(connection, principal, group_id):
            if row.document_bytes is None:
                planned.add_absent(absent_document(unrecorded_of(row)))
            else:
                planned.add(row.job_id, place_of(row), document_bytes=row.document_bytes)
    if name is not None and name != planned.name:
        raise not_found("export", name)
    return planned


def state(planned: Plan) -> Export:
    """The answer of E12 and E13: the export is always ready, because it is joined while it is sent."""
    url = OPERATIONS["group_export_file"].url_path(group_id=planned.group_id, download_job_name=planned.name)
    return Export(status="succeeded", download_job_name=planned.name, download_url=url, total=planned.recorded)
