"""Signing in with a key, signing out, and the files that pages load."""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.errors import STATUS, Code
from benchloop_server.features.sessions import service as sessions
from benchloop_server.http.parameters import PathText
from benchloop_server.kit.errors import DomainError, bad_request, not_found
from benchloop_server.pages import door, render, routing
from benchloop_server.pages.door import AnyRequest
from benchloop_server.pages.page import Done, Page
from benchloop_server.pages.static import find

_LONGEST_KEY = 200
_FIRST = "/groups"
_YEAR = "private, max-age=31536000, immutable"


@get(["/sign-in"], include_in_schema=False)
async def form(request: AnyRequest) -> Response[Any]:
    """The form that takes a key."""
    services = request.app.state.services
    try:
        door.check_host(request, services)
    except DomainError as error:
        return routing.html(routing.error_page(request, None, error), status=STATUS[error.code])
    page = Page(template="sign-in.html", title="Sign in", data={"next": inside(request.query_params.get("next", ""))})
    theme = request.cookies.get("benchloop_theme")
    return routing.html(render.document(None, page, twin="", theme=theme, now=services.clock()))


@post("/sign-in", include_in_schema=False, status_code=200, request_max_body_size=10_000)
async def sign_in(request: AnyRequest) -> Response[Any]:
    """A key becomes a session."""
    services = request.app.state.services
    try:
        door.check_host(request, services)
        door.check_origin(request)
        body = await routing.body_of(request)
        key = body.get("key")
        if not isinstance(key, str) or not 0 < len(key.strip()) <= _LONGEST_KEY:
            raise bad_request("a key is one line that begins with blk_")
        visitor = await to_thread.run_sync(sessions.sign_in, services, key)
        if visitor is None:
            raise DomainError(Code.UNAUTHENTICATED, "this key is not known here, was revoked or has ended")
    except DomainError as error:
        return routing.refusal(request, error)
    response = routing.told(Done(location=inside(str(body.get("next") or ""))))
    door.keep(request, response, visitor.word)
    return response


@post("/sign-out", include_in_schema=False, status_code=200, request_max_body_size=10_000)
async def sign_out(request: AnyRequest) -> Response[Any]:
    """The session ends, here and on the server."""
    services = request.app.state.services
    try:
        door.check_host(request, services)
        door.check_origin(request)
    except DomainError as error:
        return routing.refusal(request, error)
    await to_thread.run_sync(sessions.sign_out, services, door.word_of(request))
    response = routing.told(Done(location="/sign-in"))
    door.forget(request, response)
    return response


@get("/static/{folder:str}/{name:str}", include_in_schema=False)
async def static(request: AnyRequest, folder: PathText, name: PathText) -> Response[Any]:
    """A file that pages load. Its address changes with its content, so it may be kept."""
    asset = await to_thread.run_sync(find, folder, name)
    if asset is None:
        return routing.refusal(request, not_found("file", name))
    headers = {"cache-control": _YEAR, "vary": "Accept-Encoding", "cross-origin-resource-policy": "same-origin"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, media_type=asset.media_type, headers={**headers, "content-encoding": "gzip"})
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def inside(target: str) -> str:
    """`target` if it is a path on this server, else the first page: nobody is sent elsewhere by a link that begins here."""
    plain = target.isprintable() and "\\" not in target
    return target if plain and target.startswith("/") and not target.startswith("//") else _FIRST


ROUTES: list[HTTPRouteHandler] = [form, sign_in, sign_out, static]
