"""JSON that arrives is compared with the digest in its header, and JSON that is sent has one: nothing else guards it on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from litestar.exceptions import ClientException
from litestar.types import Message, Receive, ReceiveMessage, Send

from benchloop_client.contract.digests import CONTENT_DIGEST, expected, stated

_NAME = CONTENT_DIGEST.encode()
_JSON = b"application/json"


class Sealing:
    """Passes the messages of an answer on; one whose JSON comes in one piece gets the digest of it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: Message | None = None

    async def __call__(self, message: Message) -> None:
        """The next message."""
        if message["type"] == "http.response.start" and _whole_json(message["headers"]):
            self._held = message
            return
        held, self._held = self._held, None
        if held is not None and held["type"] == "http.response.start":
            if message["type"] == "http.response.body" and not message["more_body"]:
                held["headers"] = [*held["headers"], (_NAME, stated(message["body"]).encode())]
            await self._send(held)
        await self._send(message)


def compared(headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> Receive:
    """`receive`, which raises `ClientException` at the end of a body that is not the one whose digest the headers state."""
    wanted = expected(next((value.decode("latin-1") for name, value in headers if name.lower() == _NAME), None))
    if wanted is None:
        return receive
    digest = hashlib.sha256()

    async def received() -> ReceiveMessage:
        message = await receive()
        if message["type"] == "http.request":
            digest.update(message["body"])
            if not message["more_body"] and digest.digest() != wanted:
                raise ClientException("the body was damaged on the way: it is not the one whose digest was announced; send it again")
        return message

    return received


def _whole_json(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether this is JSON that nothing else vouches for: bodies with a version are long, and are streamed."""
    named = {name.lower(): value for name, value in headers}
    return named.get(b"content-type", b"").startswith(_JSON) and b"etag" not in named and b"content-encoding" not in named
