"""An HTTP(S) server on 127.0.0.1 whose answers, and whose faults, are scripted route by route; it remembers what it was asked."""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support.certificates import self_signed

#: How a server meets a connection: cleartext, TLS, or whichever the first byte announces.
Transport = Literal["plain", "tls", "both"]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived: `target` is the raw request target, `path` its decoded path; header names are lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    secure: bool
    at: float
    path_ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The decoded path without the query."""
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        """The decoded query; the last of several equal names wins."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def key(self) -> str | None:
        """The API key that came along."""
        return self.headers.get("x-api-key")


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send back, faults included.

    `length` is the Content-Length to claim: None means the true one, -1 none at all (the body ends with the connection). `sent` cuts the
    body after so many bytes, and the connection with it. `delay` and `pause` are seconds, before the head and between `piece`s.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    sent: int | None = None
    delay: float = 0.0
    piece: int = 0
    pause: float = 0.0
    reset: bool = False
    chunked: bool = False


Handler = Callable[[Seen], Answer]


def of_json(value: Any, status: int = 200, **more: Any) -> Answer:
    """An answer with `value` as its JSON body."""
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"}, **more)


def html(text: str = "<html><body>Sign in to continue</body></html>", status: int = 200) -> Answer:
    """A page where data was asked for, as a gateway answers."""
    return Answer(status, text.encode(), {"Content-Type": "text/html; charset=utf-8"})


def redirect(location: str, status: int = 302, body: bytes = b"") -> Answer:
    """A redirect; some gateways send a JSON body along."""
    return Answer(status, body, {"Location": location, "Content-Type": "application/json"})


def error(status: int, text: str = "refused", **headers: str) -> Answer:
    """An error answer with the documented body; header names are given with `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps({"error": text}).encode(), {"Content-Type": "application/json", **named})


def binary(body: bytes, content_type: str = "application/gzip", **more: Any) -> Answer:
    """A file's bytes."""
    return Answer(200, body, {"Content-Type": content_type}, **more)


class Scripted:
    """A running server: give it routes, ask it what it saw."""

    def __init__(self, transport: Transport = "plain", handshake_delay: float = 0.0, context: ssl.SSLContext | None = None) -> None:
        self.seen: list[Seen] = []
        self.connections = 0
        self.transport = transport
        self.handshake_delay = handshake_delay
        self.closing = threading.Event()
        #: Answers what no route does.
        self.fallback: Handler = lambda seen: error(404, f"nothing at {seen.path}")
        self._routes: list[tuple[str, list[str], Handler]] = []
        self._server = _Server(self, context)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._server.server_address[1])

    @property
    def origin(self) -> str:
        """What to give as the host; a server of both kinds is asked for by https."""
        scheme = "http" if self.transport == "plain" else "https"
        return f"{scheme}://127.0.0.1:{self.port}"

    def on(self, route: str, answer: Answer | Handler) -> None:
        """Script `METHOD /path/{placeholder}`; a later script for the same requests wins. A segment matches in its decoded form."""
        method, _, path = route.partition(" ")
        handler: Handler = (lambda _seen: answer) if isinstance(answer, Answer) else answer
        self._routes.insert(0, (method, path.split("/"), handler))

    def clear(self) -> None:
        """Forget every route and every request: the server is as new."""
        self.seen.clear()
        self._routes.clear()
        self.fallback = lambda seen: error(404, f"nothing at {seen.path}")

    def answer(self, seen: Seen) -> Answer:
        """The scripted answer to a request; the fallback's where nothing is scripted."""
        segments = [unquote(part) for part in urlsplit(seen.target).path.split("/")]
        for method, pattern, handler in self._routes:
            ids = _match(pattern, segments) if method == seen.method else None
            if ids is not None:
                return handler(Seen(seen.method, seen.target, seen.headers, seen.body, seen.secure, seen.at, ids))
        return self.fallback(seen)

    def asked(self, fragment: str = "") -> list[Seen]:
        """The requests whose raw target holds `fragment`, in order of arrival; asking for the server's version does not count."""
        return [seen for seen in list(self.seen) if fragment in seen.target and seen.path != "/openapi/version"]

    def stop(self) -> None:
        """Stop listening and let sleeping answers go."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@contextmanager
def scripted(transport: Transport = "plain", handshake_delay: float = 0.0, context: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    """A scripted server for the length of a `with` block; `context`: its side of TLS, else with a certificate that vouches for itself."""
    server = Scripted(transport, handshake_delay, context)
    try:
        yield server
    finally:
        server.stop()


def _match(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    if len(pattern) != len(segments):
        return None
    ids: dict[str, str] = {}
    for wanted, got in zip(pattern, segments, strict=True):
        if wanted.startswith("{"):
            ids[wanted.strip("{}")] = got
        elif wanted != got:
            return None
    return ids


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, script: Scripted, context: ssl.SSLContext | None) -> None:
        self.script = script
        self._context = (context or self_signed().server_context()) if script.transport != "plain" else None
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.script.connections += 1
        with suppress(OSError, ssl.SSLError):
            super().process_request_thread(self._wrapped(request), client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what these tests are about."""

    def _wrapped(self, request: socket.socket) -> socket.socket:
        if self._context is None:
            return request
        if self.script.transport == "both" and request.recv(1, socket.MSG_PEEK) != b"\x16":
            return request
        self.script.closing.wait(self.script.handshake_delay)
        return self._context.wrap_socket(request, server_side=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    wbufsize = -1

    def log_message(self, *_args: Any) -> None:
        """Silent: the script remembers requests itself."""

    def handle_one_request(self) -> None:
        with suppress(OSError, ssl.SSLError):
            super().handle_one_request()
            return
        self.close_connection = True

    def _any(self) -> None:
        script = self.server.script
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        secure = isinstance(self.connection, ssl.SSLSocket)
        seen = Seen(self.command, self.path, headers, body, secure, time.monotonic())
        script.seen.append(seen)
        self._send(script.answer(seen))

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _any

    def _send(self, answer: Answer) -> None:
        closing = self.server.script.closing
        closing.wait(answer.delay) if answer.delay else None
        self._head(answer)
        body = answer.body if answer.sent is None else answer.body[: answer.sent]
        for piece in _pieces(body, answer.piece):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece)
            self.wfile.flush()
            if answer.pause and closing.wait(answer.pause):
                break
        if answer.chunked and answer.sent is None:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
        self._end(answer)

    def _head(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif answer.length != -1:
            self.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
        self.end_headers()
        self.wfile.flush()

    def _end(self, answer: Answer) -> None:
        if answer.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())
        if answer.reset or answer.sent is not None or answer.length is not None:
            self.close_connection = True


def _pieces(body: bytes, size: int) -> Iterator[bytes]:
    step = size or max(len(body), 1)
    for start in range(0, len(body), step):
        yield body[start : start + step]
