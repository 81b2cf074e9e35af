"""The routes of exports: E11 to E14 and the lines of plain documents."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.resources import Export
from benchloop_server.features.exports import service
from benchloop_server.http.bodies import framed
from benchloop_server.http.parameters import GivenPrincipal, GivenServices, PathText
from benchloop_server.http.routing import operation

AnyRequest = Request[Any, Any, Any]
_JSON = "application/json"
_LINES = "application/x-ndjson"


@operation("group_trajectory", media_type=_JSON)
def get_group_trajectory(request: AnyRequest, services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> Response[Any]:
    """Every trajectory of the group in one document."""
    planned = service.plan(services, principal, group_id)
    return framed(request, planned.document, services.blobs, media_type=_JSON, tag=f"{planned.version}-document")


@operation("group_export")
def get_export(services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> Export:
    """The group's export: always ready."""
    return service.state(*service.named(services, principal, group_id))


@operation("group_export_state")
def get_export_state(services: GivenServices, principal: GivenPrincipal, group_id: PathText, download_job_name: PathText) -> Export:
    """The state of an export: what it was when it was named, whatever the group has become."""
    return service.state(download_job_name, service.by_name(services, principal, group_id, download_job_name))


@operation("group_export_file", media_type=_LINES)
def get_export_file(
    request: AnyRequest, services: GivenServices, principal: GivenPrincipal, group_id: PathText, download_job_name: PathText
) -> Response[Any]:
    """The export: JSON lines, one trajectory a line, `job_id` first."""
    planned = service.by_name(services, principal, group_id, download_job_name)
    return framed(request, planned.rows, services.blobs, media_type=_LINES, tag=download_job_name)


@operation("group_trajectory_lines", media_type=_LINES)
def get_lines(request: AnyRequest, services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> Response[Any]:
    """Every trajectory of the group, one plain document a line."""
    planned = service.plan(services, principal, group_id)
    return framed(request, planned.lines, services.blobs, media_type=_LINES, tag=f"{planned.version}-lines")


ROUTES: list[HTTPRouteHandler] = [get_group_trajectory, get_export, get_export_state, get_export_file, get_lines]
