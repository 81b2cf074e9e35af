"""How a function becomes a page: `(Asked) -> Page` behind the door, with its `.json` twin; and the same for actions and fragments.

Only this module, `door` and `signin` know the web framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from anyio import to_thread
from litestar import MediaType, Response, get, post
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.errors import STATUS, Code, ErrorBody
from benchloop_server.kit.errors import DomainError, bad_request, not_found
from benchloop_server.kit.services import Services
from benchloop_server.pages import door, render
from benchloop_server.pages.door import AnyRequest, SignedOut
from benchloop_server.pages.page import Asked, Done, Elsewhere, Fragment, Page, with_query

#: What a page function may answer: a record for the twin only, or anything that Litestar can send.
Answer = Page | Fragment | Elsewhere | msgspec.Struct | Response[Any]
PageFunction = Callable[[Asked], Answer]
ActionFunction = Callable[[Asked], Done]

_BODY_LIMIT = 1 << 20
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{inline}; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {"referrer-policy": "same-origin", "cross-origin-opener-policy": "same-origin", "vary": "Cookie"}


def page(path: str, function: PageFunction) -> HTTPRouteHandler:
    """Serve GET on `path` (fields as `{name:str}`) for who is signed in; `.json` behind it gives what the page shows."""

    async def handler(request: AnyRequest) -> Response[Any]:
        return await _answer(request, function)

    return get(_both(path), include_in_schema=False, name=None)(handler)


def action(path: str, function: ActionFunction, *, scope: str = "write") -> HTTPRouteHandler:
    """Serve POST on `path` for our own scripts: JSON in, `{"location", …}` out. Needs a key with `scope`."""

    async def handler(request: AnyRequest) -> Response[Any]:
        return await _act(request, function, scope)

    return post(path, include_in_schema=False, status_code=200, request_max_body_size=_BODY_LIMIT)(handler)


def _both(path: str) -> list[str]:
    """A path that ends in a field takes the twin in that field."""
    return [path] if path.endswith("}") else [path, f"{path}.json"]


async def _answer(request: AnyRequest, function: PageFunction) -> Response[Any]:
    services: Services = request.app.state.services
    path, ids, as_json = _read(request)
    asked: Asked | None = None
    word: str | None = None
    answer: Answer | DomainError
    try:
        door.check_host(request, services)
        found = await door.visitor(request, services)
        word = found.word
        if "read" not in found.principal.scopes:
            raise DomainError(Code.FORBIDDEN, "the key that you signed in with has no `read` scope")
        asked = Asked(services=services, principal=found.principal, path=path, ids=ids, query=_query(request))
        answer = await to_thread.run_sync(_checked, function, asked)
    except SignedOut:
        return _sign_in_first(request, path, as_json=as_json)
    except DomainError as error:
        answer = error
    response = await to_thread.run_sync(_drawn, request, asked, answer, as_json)
    door.keep(request, response, word)
    return response


def _checked(function: PageFunction, asked: Asked) -> Answer:
    for name, value in asked.ids.items():
        if "\0" in value or len(value) > 4_000:
            raise not_found(name.removesuffix("_id"), value[:80])
    if any("\0" in value for pair in asked.query for value in pair):
        raise bad_request("the query holds a NUL character")
    return function(asked)


async def _act(request: AnyRequest, function: ActionFunction, scope: str) -> Response[Any]:
    services: Services = request.app.state.services
    try:
        door.check_host(request, services)
        door.check_origin(request)
        found = await door.visitor(request, services)
        if scope not in found.principal.scopes:
            raise DomainError(Code.FORBIDDEN, f"the key that you signed in with has no `{scope}` scope")
        ids = {name: str(value) for name, value in request.path_params.items()}
        body = await body_of(request)
        asked = Asked(services=services, principal=found.principal, path=request.scope["path"], ids=ids, query=_query(request), body=body)
        done = await to_thread.run_sync(function, asked)
    except SignedOut:
        return refusal(request, DomainError(Code.UNAUTHENTICATED, "you are signed out; sign in again, what you wrote is still here"))
    except DomainError as error:
        return refusal(request, error)
    response = told(done)
    door.keep(request, response, found.word)
    return response


async def body_of(request: AnyRequest) -> Mapping[str, Any]:
    """The JSON object that a script sent. Raises `DomainError` (400) for anything else."""
    try:
        return msgspec.json.decode(await request.body() or b"{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise bad_request(f"the form cannot be read: {error}") from error


def told(done: Done) -> Response[Any]:
    """The answer to an action."""
    body = {**done.data, "location": done.location}
    return Response(msgspec.json.encode(body), media_type=MediaType.JSON, headers=HEADERS)


def refusal(request: AnyRequest, error: DomainError) -> Response[Any]:
    """The one error body."""
    body = ErrorBody(error.message, error.code.value, str(request.scope.get("benchloop_request_id", "")))
    return Response(msgspec.json.encode(body), media_type=MediaType.JSON, status_code=STATUS[error.code], headers=HEADERS)


def html(text: str, *, status: int = 200, charts: bool = False) -> Response[Any]:
    """A document under the policy of pages."""
    policy = _POLICY.format(inline=" 'unsafe-inline'" if charts else "")
    headers = {**HEADERS, "content-security-policy": policy}
    return Response(text, media_type=MediaType.HTML, status_code=status, headers=headers)


def _drawn(request: AnyRequest, asked: Asked | None, answer: Answer | DomainError, as_json: bool) -> Response[Any]:
    now = request.app.state.services.clock()
    if isinstance(answer, DomainError):
        return refusal(request, answer) if as_json else html(error_page(request, asked, answer), status=STATUS[answer.code])
    if isinstance(answer, Response):
        return answer
    if isinstance(answer, Elsewhere):
        return Response(b"", status_code=303, headers={**HEADERS, "location": answer.location})
    if isinstance(answer, Fragment) and asked is not None:
        return html(render.part(asked, answer, now=now))
    if isinstance(answer, msgspec.Struct):
        return Response(msgspec.json.encode(answer), media_type=MediaType.JSON, headers=HEADERS)
    assert isinstance(answer, Page)
    if as_json:
        return Response(msgspec.json.encode(answer.data), media_type=MediaType.JSON, status_code=answer.status, headers=HEADERS)
    twin = with_query(_twin(asked), asked.query) if asked else ""
    text = render.document(asked, answer, twin=twin, theme=request.cookies.get("benchloop_theme"), now=now)
    return html(text, status=answer.status, charts=answer.charts)


def error_page(request: AnyRequest, asked: Asked | None, error: DomainError) -> str:
    """What went wrong, and what now, as a page."""
    data = {"message": error.message, "code": error.code.value, "request_id": request.scope.get("benchloop_request_id", "")}
    shown = Page(template="error.html", title=_TITLES.get(error.code, "This did not work"), data=data)
    now = request.app.state.services.clock()
    return render.document(asked, shown, twin="", theme=request.cookies.get("benchloop_theme"), now=now)


_TITLES = {
    Code.NOT_FOUND: "Not found",
    Code.BAD_REQUEST: "This address cannot be read",
    Code.FORBIDDEN: "Not allowed",
    Code.UNAVAILABLE: "Not now",
}


def _sign_in_first(request: AnyRequest, path: str, *, as_json: bool) -> Response[Any]:
    if as_json:
        return refusal(request, DomainError(Code.UNAUTHENTICATED, "nobody is signed in; open a page of this server in a browser first"))
    there = with_query(path, _query(request))
    return Response(b"", status_code=303, headers={**HEADERS, "location": f"/sign-in?{urlencode({'next': there})}"})


def _read(request: AnyRequest) -> tuple[str, dict[str, str], bool]:
    """The address of the page itself, the fields of its path, and whether the twin is asked for."""
    raw: str = request.scope["raw_path"].decode("ascii", "replace") if request.scope.get("raw_path") else request.scope["path"]
    raw = raw.partition("?")[0]
    ids = {name: str(value) for name, value in request.path_params.items()}
    as_json = raw.endswith(".json")
    if raw.endswith((".json", ".html")):
        last = request.scope["path"].rpartition("/")[2]
        ids = {name: value[:-5] if value == last else value for name, value in ids.items()}
        raw = raw[:-5]
    return raw, ids, as_json


def _twin(asked: Asked) -> str:
    return f"{asked.path}.json"


def _query(request: AnyRequest) -> tuple[tuple[str, str], ...]:
    text = request.scope["query_string"].decode("latin-1")
    try:
        return tuple(parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=200))
    except ValueError:
        return ()
