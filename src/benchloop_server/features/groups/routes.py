"""The routes of groups."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.resources import Group, GroupPage, GroupUpsert
from benchloop_server.features.groups import service
from benchloop_server.http.queries import Limit
from benchloop_server.http.routing import operation
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services


@operation("groups")
def list_groups(services: Services, principal: Principal, limit: Limit = 100, cursor: str | None = None) -> GroupPage:
    """The groups of the key's workspace, newest first."""
    return service.page(services, principal, limit=limit, cursor=cursor)


@operation("group")
def get_group(services: Services, principal: Principal, group_id: str) -> Group:
    """One group."""
    return service.get(services, principal, group_id)


@operation("group_put")
def put_group(services: Services, principal: Principal, group_id: str, data: GroupUpsert) -> Group:
    """Create a group, or replace the facts of one."""
    return service.put(services, principal, group_id, upsert=data)


ROUTES: list[HTTPRouteHandler] = [list_groups, get_group, put_group]
