"""New connections: to a server or through a proxy on the way to it, secured where the address says so."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchloop_client._tunnel import Layered
from benchloop_client._wire import Broken, Socket, Wire
from benchloop_client.addresses import Origin, Proxy


class Unreached(Exception):
    """No connection came about. `step`: where it ended (name, refused, time, tls, trust, proxy); `status`: what the proxy answered, if it
    did.
    """

    def __init__(self, step: str, words: str, *, status: int | None = None) -> None:
        super().__init__(words)
        self.step = step
        self.status = status


class Opener:
    """Opens connections. `context` makes or gives the TLS context; `note` is told of every socket; `limit`: seconds for each step."""

    def __init__(self, context: Callable[[], ssl.SSLContext], note: Callable[[socket.socket], None], limit: float) -> None:
        self._context = context
        self._note = note
        self._limit = limit

    def open(self, origin: Origin, proxy: Proxy | None) -> Socket:
        """A connection over which requests to `origin` can be sent. Raises `Unreached`."""
        sock = self._reached(proxy.origin if proxy else origin, through=proxy is not None)
        try:
            if proxy is None:
                return self._secured(sock, origin.host) if origin.scheme == "https" else sock
            if proxy.origin.scheme == "https":
                sock = self._to_proxy(sock, proxy)
            if origin.scheme == "http":
                return sock
            _ask_for_tunnel(sock, origin, proxy)
            return self._layered(sock, origin.host) if isinstance(sock, ssl.SSLSocket) else self._secured(sock, origin.host)
        except BaseException:
            sock.close()
            raise

    def _reached(self, at: Origin, *, through: bool) -> socket.socket:
        try:
            sock = socket.create_connection((at.host, at.port), self._limit)
        except (socket.gaierror, UnicodeError) as error:
            raise Unreached("proxy" if through else "name", _words(error)) from error
        except TimeoutError as error:
            raise Unreached("proxy" if through else "time", "it takes too long") from error
        except OSError as error:
            raise Unreached("proxy" if through else "refused", _words(error)) from error
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._note(sock)
        return sock

    def _secured(self, sock: socket.socket, host: str) -> ssl.SSLSocket:
        context = self._context()
        with _handshake():
            secure = context.wrap_socket(sock, server_hostname=host)
        self._note(secure)
        return secure

    def _layered(self, sock: ssl.SSLSocket, host: str) -> Layered:
        context = self._context()
        with _handshake():
            return Layered(sock, context, host)

    def _to_proxy(self, sock: socket.socket, proxy: Proxy) -> ssl.SSLSocket:
        try:
            return self._secured(sock, proxy.origin.host)
        except Unreached as error:
            raise Unreached("proxy", str(error)) from error


@contextmanager
def _handshake() -> Iterator[None]:
    """Tells apart what can go wrong while a connection is secured."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise Unreached("trust", error.verify_message) from error
    except TimeoutError as error:
        raise Unreached("time", "it takes too long") from error
    except (OSError, ValueError) as error:
        raise Unreached("tls", _words(error)) from error


def ended(sock: Socket) -> bool:
    """Whether a resting connection has something to read: its end, or what nobody asked for. It cannot be used then."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock.fileno()], [], [], 0)[0])


def _ask_for_tunnel(sock: socket.socket, origin: Origin, proxy: Proxy) -> None:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    place = f"{host}:{origin.port}"
    authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    wire = Wire(sock)
    try:
        answer = wire.ask(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{authorization}\r\n".encode("latin-1"), None, no_body=True)
    except (Broken, OSError) as error:
        raise Unreached("proxy", _words(error)) from error
    if not 200 <= answer.status < 300:
        raise Unreached("proxy", f"it answers {answer.status}", status=answer.status)
    if not wire.clean:
        raise Unreached("proxy", "it sends more than its answer")


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return (str(error) or type(error).__name__)[:120]
