"""The routes of groups."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from benchloop_client.contract.resources import Group, GroupPage, GroupUpsert
from benchloop_server.features.groups import service
from benchloop_server.http.parameters import Cursor, GivenPrincipal, GivenServices, Limit, PathText
from benchloop_server.http.routing import operation


@operation("groups")
def list_groups(services: GivenServices, principal: GivenPrincipal, limit: Limit = 100, cursor: Cursor = None) -> GroupPage:
    """The groups of the key's workspace, newest first."""
    return service.page(services, principal, limit=limit, cursor=cursor)


@operation("group")
def get_group(services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> Group:
    """One group."""
    return service.get(services, principal, group_id)


@operation("group_put")
def put_group(services: GivenServices, principal: GivenPrincipal, group_id: PathText, data: JSONBody[GroupUpsert]) -> Group:
    """Create a group, or replace the facts of one."""
    return service.put(services, principal, group_id, upsert=data)


ROUTES: list[HTTPRouteHandler] = [list_groups, get_group, put_group]
