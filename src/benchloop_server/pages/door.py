"""Who stands before a page: the name of the server, the session cookie, and where an action comes from."""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from litestar import Request, Response
from litestar.datastructures import Cookie

from benchloop_client.contract.errors import Code
from benchloop_server.features.sessions import service as sessions
from benchloop_server.features.sessions.service import LONGEST, Visitor
from benchloop_server.kit.browsers import is_loopback, is_same_origin, port_of
from benchloop_server.kit.errors import DomainError, bad_request
from benchloop_server.kit.services import Services

AnyRequest = Request[Any, Any, Any]
#: What our own scripts send along with everything that changes something; a form elsewhere cannot.
OWN_HEADER = "x-benchloop-page"
_COOKIE = "benchloop_session"
_MICROS = 1_000_000


class SignedOut(Exception):
    """Nobody is signed in here."""


def check_host(request: AnyRequest, services: Services) -> None:
    """Raise `DomainError` (400) when the browser was led here by a name that is not this server's."""
    host = request.headers.get("host", "")
    if not services.browsers.knows(host):
        raise bad_request(f"this server is not known as {host!r}; if it should be, name it in BENCHLOOP_SERVER_NAMES")


def check_origin(request: AnyRequest) -> None:
    """Raise `DomainError` (403) unless a page of this server, by its own script, asks for the change."""
    host = request.headers.get("host", "")
    if not is_same_origin(request.headers.get("origin"), host) or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise DomainError(Code.FORBIDDEN, "this change was not asked for by a page of this server")
    if request.headers.get(OWN_HEADER) != "1":
        raise DomainError(Code.FORBIDDEN, "this change was not sent by a page's own script; the API is under /openapi")


async def visitor(request: AnyRequest, services: Services) -> Visitor:
    """Who is signed in. Raises `SignedOut`."""
    word = request.cookies.get(cookie_name(request), "")
    found = await to_thread.run_sync(sessions.visitor, services, word) if word else None
    if found is None:
        raise SignedOut
    return found


def word_of(request: AnyRequest) -> str:
    """What the cookie holds; empty without one."""
    return request.cookies.get(cookie_name(request), "")


def cookie_name(request: AnyRequest) -> str:
    """`__Host-` where TLS is a must; on this machine's own addresses one for each port, as browsers do not tell ports apart."""
    host = request.headers.get("host", "")
    return f"{_COOKIE}_{port_of(host) or '80'}" if is_loopback(host) else f"__Host-{_COOKIE}"


def keep(request: AnyRequest, response: Response[Any], word: str | None) -> None:
    """Have the browser hold `word`; None: nothing changes."""
    if word is not None:
        response.set_cookie(_cookie(request, word, LONGEST // _MICROS))


def forget(request: AnyRequest, response: Response[Any]) -> None:
    """Have the browser drop what it holds."""
    response.set_cookie(_cookie(request, "", 0))


def _cookie(request: AnyRequest, value: str, seconds: int) -> Cookie:
    secure = not is_loopback(request.headers.get("host", ""))
    return Cookie(cookie_name(request), value=value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax")
