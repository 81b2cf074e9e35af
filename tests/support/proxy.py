"""A small forward and CONNECT proxy on 127.0.0.1 that leads every name to one port of this machine, and remembers what it was asked."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_ENOUGH = 1 << 16


@dataclass
class Proxy:
    """`lines`: the request lines that arrived; `wants`: "user:password" that it insists on."""

    leads_to: int
    wants: str | None = None
    context: ssl.SSLContext | None = None
    lines: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    @property
    def address(self) -> str:
        """What to give as the proxy."""
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            stream = self.context.wrap_socket(client, server_side=True) if self.context else client
            head, rest = _head(stream)
            self.heads.append(head)
            self.lines.append(head.split("\r\n")[0])
            if self.wants is not None and f"Basic {base64.b64encode(self.wants.encode()).decode()}" not in head:
                stream.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", self.leads_to), 10) as server:
                if head.startswith("CONNECT"):
                    stream.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    server.sendall(_relative(head).encode("latin-1") + rest)
                threading.Thread(target=_copy, args=(stream, server), daemon=True).start()
                _copy(server, stream)


@contextmanager
def proxying(leads_to: int, *, wants: str | None = None, context: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    """A proxy for the length of a `with` block."""
    proxy = Proxy(leads_to, wants, context)
    try:
        yield proxy
    finally:
        proxy.close()


def _head(client: socket.socket) -> tuple[str, bytes]:
    data = b""
    while b"\r\n\r\n" not in data and len(data) < _ENOUGH:
        piece = client.recv(4096)
        if not piece:
            raise OSError("the client went away")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head.decode("latin-1") + "\r\n\r\n", rest


def _relative(head: str) -> str:
    """The head of an absolute-form request as the server itself wants it; one request a connection."""
    line, _, fields = head.partition("\r\n")
    method, target, version = line.split(" ")
    kept = [field for field in fields.split("\r\n") if field and not field.lower().startswith(("proxy-", "connection:"))]
    return "\r\n".join([f"{method} /{target.split('/', 3)[3]} {version}", *kept, "Connection: close", "", ""])


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_ENOUGH):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
