"""The routes of download tasks."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.resources import DownloadTask, DownloadTaskCreate
from benchloop_server.features.downloads import service
from benchloop_server.http.routing import operation
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services


@operation("download_task")
def get_task(services: Services, principal: Principal, task_id: str) -> DownloadTask:
    """A frozen list of job ids."""
    return service.get(services, principal, task_id)


@operation("download_task_create")
def create_task(services: Services, principal: Principal, data: DownloadTaskCreate) -> DownloadTask:
    """Freeze the jobs that fit the filters now."""
    return service.create(services, principal, data)


ROUTES: list[HTTPRouteHandler] = [get_task, create_task]
