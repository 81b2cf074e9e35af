"""Round every request: an id, security headers, digests of JSON, and a line in the access log that never holds a key. HEAD is GET without
a body.
"""

from __future__ import annotations

import random
import time
from typing import Any

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from benchloop_server.http.digests import Sealing, compared

#: Set in the scope of a GET that was asked as HEAD: nobody will see its body, so that it need not be made.
HEAD = "benchloop_head"

#: Ids need to differ, not to be secret: asking the system for each would make the event loop wait for its turn among the threads.
_dice = random.Random(random.SystemRandom().getrandbits(128))
_log = structlog.get_logger("benchloop_server.access")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


class Frame:
    """An ASGI application round another. Headers the inner one sets itself are kept."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; anything but HTTP passes untouched."""
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        request_id = f"{_dice.getrandbits(64):016x}"
        scope["benchloop_request_id"] = request_id  # type: ignore[typeddict-unknown-key]
        record: dict[str, Any] = {"status": 0, "bytes": 0}
        sent = send if scope["method"] == "HEAD" else Sealing(send)
        begun = time.perf_counter()

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                record["status"] = message["status"]
                message["headers"] = _with_headers(list(message["headers"]), request_id)
            elif message["type"] == "http.response.body":
                record["bytes"] += len(message["body"])
            await sent(message)

        inner: Any = {**scope, "method": "GET", HEAD: True} if scope["method"] == "HEAD" else scope
        try:
            await self.app(inner, compared(scope["headers"], receive), framed)
        finally:
            milliseconds = round((time.perf_counter() - begun) * 1000, 1)
            _log.info("request", id=request_id, method=scope["method"], path=scope["path"], ms=milliseconds, **record)


def _with_headers(headers: list[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in headers}
    headers += [(name, value) for name, value in _HEADERS if name not in present]
    return [*headers, (b"x-request-id", request_id.encode())]
