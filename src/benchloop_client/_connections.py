"""The kept-alive connections to servers and through proxies; all of them can be cut at once when the work is cancelled."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import quote

from benchloop_client import _tls
from benchloop_client._connect import Opener, ended
from benchloop_client._retry import Stop
from benchloop_client._tunnel import Layered
from benchloop_client._wire import Answer, Broken, Wire, limit_waits
from benchloop_client.addresses import Origin, Proxy
from benchloop_client.errors import NetworkError
from benchloop_client.settings import Settings

#: Connections that are kept for one server; also the most that adaptive concurrency uses.
KEPT = 64
#: Nobody waits minutes for a handshake, whatever the time limit for answers is.
_CONNECT_LIMIT = 20.0
_WATCH = 0.1
#: A connection that rested longer than this is looked at before it is used.
_FRESH = 1.0
_PLAIN_TARGET = re.compile(r"[!-~]+")


class Stale(Exception):
    """A kept connection that the server had closed meanwhile: no byte of an answer came."""


class _Way(NamedTuple):
    """One way to one server, with connections of its own; `host` is what requests call it."""

    proxy: Proxy | None
    origin: Origin
    host: str

    def head(self, method: str, url: str, headers: str) -> bytes:
        """Request line and headers as they go out; through a proxy without a tunnel the target is the whole address."""
        target = _target(url)
        if self.proxy is not None and self.origin.scheme == "http":
            target = f"http://{self.host}{target}"
            authorization = self.proxy.authorization
            headers += f"Proxy-Authorization: {authorization}\r\n" if authorization else ""
        return f"{method} {target} HTTP/1.1\r\nHost: {self.host}\r\n{headers}\r\n".encode("latin-1")


class Connections:
    """Requests over kept connections. Once `stop` has come, every open connection is cut within a tenth of a second.

    Raises `ConfigError` at once for certificates that were named and cannot be used.
    """

    def __init__(self, settings: Settings, stop: Stop) -> None:
        self._settings = settings
        self._stop = stop
        #: Is told each request with its outcome, where somebody wants to know.
        self.tell: Callable[[str], None] | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._idle: dict[_Way, deque[tuple[Wire, float]]] = {}
        self._live: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._watching = False
        self._home = f"{settings.host}/"
        self._way_home: _Way | None = None
        self._opener = Opener(self._context, self._live.add, min(settings.timeout, _CONNECT_LIMIT))
        # Certificates that a person named and that cannot be used are their mistake, to be told before anything is asked.
        self._tls = _tls.context(settings) if settings.trust and settings.origin.scheme == "https" else None

    def request(self, method: str, url: str, headers: str, body: Iterable[bytes] | None, *, careful: bool = False) -> Answer:
        """Send and return as soon as the head of the answer is in. `headers`: whole lines with their ends. `careful`: the request must not
        meet a connection that the server has closed.

        Raises `Stale`, `Unreached`, `Broken`, `TimeoutError`, `OSError`, `ssl.SSLError`.
        """
        began, outcome = time.monotonic(), "no answer"
        try:
            answer = self._request(method, url, headers, body, careful)
            outcome = str(answer.status)
            return answer
        except Exception as error:
            outcome = f"no answer ({type(error).__name__})"
            raise
        finally:
            if self.tell is not None:
                self.tell(f"{method} {self._shown(url)} {outcome} after {time.monotonic() - began:.2f} s")

    def _request(self, method: str, url: str, headers: str, body: Iterable[bytes] | None, careful: bool) -> Answer:
        way = self._way(url)
        head = way.head(method, url, headers)
        wire = self._kept(way, careful=careful) or self._connected(way)
        used = wire.served > 0
        try:
            answer = wire.ask(head, body, no_body=method == "HEAD")
        except BaseException as error:
            wire.close()
            begun = isinstance(error, Broken) and error.begun
            if used and isinstance(error, (Broken, ConnectionError)) and not begun:
                # What rests beside it was most likely closed at the same moment.
                self._drop(way)
                raise Stale(str(error)) from error
            raise
        answer.give_back = lambda: self._rest(way, wire)
        return answer

    def _way(self, url: str) -> _Way:
        if self._closed.is_set():
            raise NetworkError("the client is closed")
        if not self._watching:
            with self._lock:
                if not self._watching:
                    self._watching = True
                    threading.Thread(target=self._watch, name="benchloop-cancel", daemon=True).start()
        if not url.startswith(self._home):
            return self._way_to(Origin.of(url))
        if self._way_home is None:
            self._way_home = self._way_to(self._settings.origin)
        return self._way_home

    def _way_to(self, origin: Origin) -> _Way:
        named = self._settings.proxies.for_url(str(origin))
        proxy = Proxy.of(named) if named else None
        return _Way(proxy, origin, str(origin).partition("://")[2])

    def _kept(self, way: _Way, *, careful: bool) -> Wire | None:
        resting = self._idle.get(way)
        while resting:
            try:
                wire, since = resting.pop()
            except IndexError:
                return None
            if (careful or time.monotonic() - since > _FRESH) and ended(wire.sock):
                wire.close()
                continue
            return wire
        return None

    def _rest(self, way: _Way, wire: Wire) -> None:
        resting = self._idle.setdefault(way, deque())
        if self._closed.is_set() or len(resting) >= KEPT:
            wire.close()
        else:
            resting.append((wire, time.monotonic()))

    def _drop(self, way: _Way) -> None:
        resting = self._idle.get(way, deque())
        while resting:
            try:
                resting.pop()[0].close()
            except IndexError:
                return

    def _connected(self, way: _Way) -> Wire:
        self._stop.check()
        sock = self._opener.open(way.origin, way.proxy)
        if isinstance(sock, (ssl.SSLSocket, Layered)):
            sock.settimeout(self._settings.timeout)
        elif isinstance(sock, socket.socket):
            limit_waits(sock, self._settings.timeout)
        return Wire(sock)

    def _context(self) -> ssl.SSLContext:
        with self._lock:
            self._tls = self._tls or _tls.context(self._settings)
            return self._tls

    def _shown(self, url: str) -> str:
        """An address as it may be told: what stands in the query for another machine may be a signature."""
        return url if url.startswith(self._home) else url.partition("?")[0]

    def close(self) -> None:
        """Close what rests and cut what is still in use."""
        self._closed.set()
        for way in list(self._idle):
            self._drop(way)
        self._cut()

    def _watch(self) -> None:
        while not self._closed.wait(_WATCH):
            if self._stop.come:
                self._cut()

    def _cut(self) -> None:
        for live in list(self._live):
            try:
                # Not SSLSocket.shutdown: it takes the TLS object away from under the thread that reads from it.
                socket.socket.shutdown(live, socket.SHUT_RDWR)
            except OSError:
                continue


def _target(url: str) -> str:
    """Path and query of an address, such as a request line can hold them."""
    rest = url.partition("#")[0].partition("://")[2]
    cut = min((place for place in (rest.find("/"), rest.find("?")) if place >= 0), default=len(rest))
    target = rest[cut:] if rest[cut : cut + 1] == "/" else f"/{rest[cut:]}"
    return target if _PLAIN_TARGET.fullmatch(target) else quote(target, safe="%/:=&?~#+!$,;'@()*[]", errors="surrogatepass")
