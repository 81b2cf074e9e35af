"""The routes of trajectories: E10 and E16."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from benchloop_server.features.trajectories import service
from benchloop_server.http.bodies import Body, attachment, framed
from benchloop_server.http.links import respond_or_link
from benchloop_server.http.parameters import GivenPrincipal, GivenServices, PathText
from benchloop_server.http.routing import operation

AnyRequest = Request[Any, Any, Any]


@operation("job_trajectory", media_type="application/json")
def get_trajectory(request: AnyRequest, services: GivenServices, principal: GivenPrincipal, job_id: PathText) -> Response[Any]:
    """The job's trajectory, one ATIF document; as zstd where the client accepts that. Where none was recorded: a document without steps
    that says so in `extra.benchloop.recorded`.
    """
    found = service.found(services, principal, job_id)
    return framed(request, found.segments, services.blobs, media_type="application/json", tag=found.sha256)


@operation("media_file", media_type="application/octet-stream")
def get_media(
    request: AnyRequest, services: GivenServices, principal: GivenPrincipal, uri: Annotated[str, QueryParameter(name="ossUri")]
) -> Response[Any]:
    """An image or sound that a trajectory of the caller's jobs shows, by its `oss_uri`."""
    file = service.media(services, principal, uri)
    body = Body(
        length=file.place.length,
        open=lambda start, stop: service.media_bytes(services, file, start=start, stop=stop),
        media_type=file.media_type,
        etag=f'"{file.place.sha256}"',
        ranges=True,
        headers={"content-disposition": attachment(file.name)},
    )
    return respond_or_link(request, services, body, place=file.place)


ROUTES: list[HTTPRouteHandler] = [get_trajectory, get_media]
