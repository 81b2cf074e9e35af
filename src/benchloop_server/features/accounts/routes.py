"""The route that says whose key was sent."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.workspace import WhoAmI
from benchloop_server.features.accounts import service
from benchloop_server.http.parameters import GivenPrincipal, GivenServices
from benchloop_server.http.routing import operation


@operation("whoami")
def whoami(services: GivenServices, principal: GivenPrincipal) -> WhoAmI:
    """Whose key was sent, what it may do, and the server's time."""
    return service.whoami(services, principal)


ROUTES: list[HTTPRouteHandler] = [whoami]
