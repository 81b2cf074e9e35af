"""The routes of artifacts: E25, E26, the files inside an archive, and a group's list."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.resources import ArtifactMembers, GroupArtifactPage, JobArtifacts
from benchloop_server.features.artifacts import service
from benchloop_server.http.bodies import Body, attachment, respond
from benchloop_server.http.links import respond_or_link
from benchloop_server.http.parameters import Cursor, GivenPrincipal, GivenServices, Limit, PathText, RequiredText, Skip
from benchloop_server.http.routing import operation

AnyRequest = Request[Any, Any, Any]
_BYTES = "application/octet-stream"
_GZIP = "application/gzip"


@operation("job_artifacts")
def list_artifacts(services: GivenServices, principal: GivenPrincipal, job_id: PathText) -> JobArtifacts:
    """The job's artifact: one archive, or one entry that says that there is none."""
    return service.listed(services, principal, job_id)


@operation("job_artifact_bytes", media_type=_GZIP)
def get_archive(request: AnyRequest, services: GivenServices, principal: GivenPrincipal, job_id: PathText) -> Response[Any]:
    """The job's archive, a `.tgz`; a single range of it on demand; where `Prefer: benchloop-links` asks for it, perhaps by a redirect."""
    found = service.archive(services, principal, job_id)
    body = Body(
        length=found.place.length,
        open=lambda start, stop: service.archive_bytes(services, found, start=start, stop=stop),
        media_type=_GZIP,
        etag=f'"{found.place.sha256}"',
        ranges=True,
        headers={"content-disposition": attachment(found.name)},
    )
    return respond_or_link(request, services, body, place=found.place)


@operation("job_artifact_members")
def list_members(services: GivenServices, principal: GivenPrincipal, job_id: PathText) -> ArtifactMembers:
    """The files inside the job's archive."""
    return service.members(services, principal, job_id)


@operation("job_artifact_member", media_type=_BYTES)
def get_member(
    request: AnyRequest, services: GivenServices, principal: GivenPrincipal, job_id: PathText, path: RequiredText
) -> Response[Any]:
    """The plain bytes of one file inside the job's archive."""
    found = service.archive(services, principal, job_id)
    wanted = service.member(services, found, path)
    body = Body(
        length=wanted.size,
        open=lambda _start, _stop: service.member_bytes(services, found, wanted),
        media_type=_BYTES,
        etag=f'"{wanted.sha256}"',
        headers={"content-disposition": attachment(wanted.path.rpartition("/")[2])},
    )
    return respond(request, body)


@operation("group_artifacts")
def list_group(
    services: GivenServices, principal: GivenPrincipal, group_id: PathText, skip: Skip = 0, limit: Limit = 50, cursor: Cursor = None
) -> GroupArtifactPage:
    """The archives of a group's jobs, by `skip` or by `cursor`."""
    return service.page(services, principal, group_id, limit=limit, skip=skip, cursor=cursor)


ROUTES: list[HTTPRouteHandler] = [list_artifacts, get_archive, list_members, get_member, list_group]
