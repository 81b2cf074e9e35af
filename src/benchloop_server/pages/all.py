"""Every page, as the application serves them."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from benchloop_server.pages.groups import ROUTES as GROUPS
from benchloop_server.pages.signin import ROUTES as SIGN_IN

PAGES: list[HTTPRouteHandler] = [*SIGN_IN, *GROUPS]
