"""A small HTTP server on loopback whose answers a test writes itself, down to single bytes; it records every request."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    """A whole answer; `length` overrides the announced Content-Length, None leaves it out and closes."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = -1


Handler = Callable[[Asked, http.server.BaseHTTPRequestHandler], "Answer | None"]


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


class Scripted:
    """The server: `address`, and `asked`, every request in order."""

    def __init__(self, answer: Handler, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self._answer = answer
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.address = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        outer = self

        class Handle(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                parts = urlsplit(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, body)
                outer.asked.append(asked)
                answer = outer._answer(asked, self)
                if answer is not None:
                    self.reply(answer)

            def reply(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if answer.length is None:
                    self.send_header("Connection", "close")
                    self.close_connection = True
                elif answer.status != 304:
                    announced = len(answer.body) if answer.length == -1 else answer.length
                    self.send_header("Content-Length", str(announced))
                    self.close_connection = announced != len(answer.body)
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *args: object) -> None:
                """Stay silent."""

            def handle(self) -> None:
                try:
                    super().handle()
                except (ConnectionError, ssl.SSLError, ValueError):
                    self.close_connection = True

        return Handle


@contextmanager
def scripted(answer: Handler, context: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    server = Scripted(answer, context)
    try:
        yield server
    finally:
        server.close()
