"""The routes of groups."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from benchloop_client.contract.resources import Group, GroupPage, GroupUpsert
from benchloop_client.contract.workspace import GroupDeleted, GroupPatch
from benchloop_server.features.groups import editing, service
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


@operation("group_patch")
def patch_group(services: GivenServices, principal: GivenPrincipal, group_id: PathText, data: JSONBody[GroupPatch]) -> Group:
    """Give a group a name, tags or a note; what is left out stays, and no push changes it."""
    return editing.patch(services, principal, group_id, changes=data)


@operation("group_delete")
def delete_group(services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> GroupDeleted:
    """Delete a group with its jobs, download tasks and requests for analysis. There is no way back but a new push."""
    return editing.delete(services, principal, group_id)


ROUTES: list[HTTPRouteHandler] = [list_groups, get_group, put_group, patch_group, delete_group]
