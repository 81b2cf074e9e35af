"""The routes of download tasks."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from benchloop_client.contract.resources import DownloadTask, DownloadTaskCreate
from benchloop_server.features.downloads import service
from benchloop_server.http.parameters import GivenPrincipal, GivenServices, PathText
from benchloop_server.http.routing import operation


@operation("download_task")
def get_task(services: GivenServices, principal: GivenPrincipal, task_id: PathText) -> DownloadTask:
    """A frozen list of job ids."""
    return service.get(services, principal, task_id)


@operation("download_task_create")
def create_task(services: GivenServices, principal: GivenPrincipal, data: JSONBody[DownloadTaskCreate]) -> DownloadTask:
    """Freeze the jobs that fit the filters now."""
    return service.create(services, principal, data)


ROUTES: list[HTTPRouteHandler] = [get_task, create_task]
