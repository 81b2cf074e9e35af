"""Who asks: the `X-API-Key` header becomes a principal before anything else of the request is looked at."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from anyio import CapacityLimiter, to_thread
from litestar.connection import ASGIConnection, Request
from litestar.handlers.base import BaseRouteHandler

from benchloop_client.contract.errors import Code
from benchloop_client.contract.ids import MINTED
from benchloop_server.kit.errors import DomainError, bad_request, not_found
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

Guard = Callable[["ASGIConnection[Any, Any, Any, Any]", BaseRouteHandler], Awaitable[None]]

_PATH_ID = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
_KEY_LIMIT = 200
#: Keys are looked up in threads of their own, so that slow work in the common ones cannot hold up the door.
_DOOR_THREADS = 4


def needs(scope: str, *, creates: bool = False) -> Guard:
    """A guard: 401 without a valid key, 403 without `scope`, then 404 for ids that cannot exist (400 where one would be made)."""

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
        principal = await _identify(connection)
        if scope not in principal.scopes:
            raise DomainError(Code.FORBIDDEN, f"this key has no `{scope}` scope; make one with `benchloop-server key create --scopes`")
        _check_text(connection, creates=creates)
        connection.scope["auth"] = principal

    return guard


async def principal_of(request: Request[Any, Principal, Any]) -> Principal:
    """The dependency `principal` of the routes."""
    return request.auth


async def services_of(request: Request[Any, Any, Any]) -> Services:
    """The dependency `services` of the routes."""
    services: Services = request.app.state.services
    return services


async def _identify(connection: ASGIConnection[Any, Any, Any, Any]) -> Principal:
    key = connection.headers.get("x-api-key", "")
    if not key:
        raise DomainError(Code.UNAUTHENTICATED, "this server needs an API key in the `X-API-Key` header")
    state = connection.app.state
    if len(key) <= _KEY_LIMIT:
        principal: Principal | None = await to_thread.run_sync(state.services.identify, key, limiter=_door(state))
        if principal is not None:
            return principal
    raise DomainError(Code.UNAUTHENTICATED, "this API key is not known here, or was revoked")


def _door(state: Any) -> CapacityLimiter:
    limiter: CapacityLimiter | None = state.get("door")
    if limiter is None:
        limiter = state["door"] = CapacityLimiter(_DOOR_THREADS)
    return limiter


def _check_text(connection: ASGIConnection[Any, Any, Any, Any], *, creates: bool) -> None:
    if b"%00" in connection.scope["query_string"]:
        raise bad_request("the query holds a NUL character")
    for name, value in connection.path_params.items():
        if creates and name == "group_id" and not MINTED.match(str(value)):
            raise bad_request(
                f"{name} {value!r} cannot be made: use letters, digits, `.`, `_` and `-`, at most 128, starting with a letter or digit"
            )
        if not _PATH_ID.match(str(value)):
            raise not_found(name.removesuffix("_id"), str(value))
