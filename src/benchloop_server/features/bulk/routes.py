"""The routes of bulk bodies and their indexes, for a group and for a download task."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.bulk import BULK_INDEX_TYPE, BULK_TYPE
from benchloop_server.features.bulk import service
from benchloop_server.features.bulk.service import Asked
from benchloop_server.http.bodies import Body, lines, respond
from benchloop_server.http.parameters import GivenPrincipal, GivenServices, PathText
from benchloop_server.http.routing import operation
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

AnyRequest = Request[Any, Any, Any]


@operation("group_bulk", media_type=BULK_TYPE)
def get_group(request: AnyRequest, services: GivenServices, principal: GivenPrincipal, group_id: PathText, kind: PathText) -> Response[Any]:
    """What every job of the group has of one kind (trajectories, metadata or artifacts): items one after another."""
    return _body(request, services, principal, Asked(kind=kind, group_id=group_id))


@operation("group_bulk_index", media_type=BULK_INDEX_TYPE)
def get_group_index(
    request: AnyRequest, services: GivenServices, principal: GivenPrincipal, group_id: PathText, kind: PathText
) -> Response[Any]:
    """Where each item of the group's body is."""
    return _index(request, services, principal, Asked(kind=kind, group_id=group_id))


@operation("task_bulk", media_type=BULK_TYPE)
def get_task(request: AnyRequest, services: GivenServices, principal: GivenPrincipal, task_id: PathText, kind: PathText) -> Response[Any]:
    """What the jobs of a download task have of one kind, in the order in which they were frozen."""
    return _body(request, services, principal, Asked(kind=kind, task_id=task_id))


@operation("task_bulk_index", media_type=BULK_INDEX_TYPE)
def get_task_index(
    request: AnyRequest, services: GivenServices, principal: GivenPrincipal, task_id: PathText, kind: PathText
) -> Response[Any]:
    """Where each item of the task's body is."""
    return _index(request, services, principal, Asked(kind=kind, task_id=task_id))


def _body(request: AnyRequest, services: Services, principal: Principal, asked: Asked) -> Response[Any]:
    bulk = service.plan(services, principal, asked, body=True)
    body = Body(
        length=bulk.plan.length,
        open=lambda start, stop: service.body_bytes(services, principal, bulk, start=start, stop=stop),
        media_type=BULK_TYPE,
        etag=bulk.plan.etag,
        ranges=True,
    )
    return respond(request, body)


def _index(request: AnyRequest, services: Services, principal: Principal, asked: Asked) -> Response[Any]:
    planned = service.plan(services, principal, asked, body=False).plan
    return lines(request, planned.index, media_type=BULK_INDEX_TYPE, tag=f"{planned.etag.strip(chr(34))}-index")


ROUTES: list[HTTPRouteHandler] = [get_group, get_group_index, get_task, get_task_index]
