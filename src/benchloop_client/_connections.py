"""The kept-alive connections to servers and through proxies; all of them can be cut at once when the work is cancelled."""

from __future__ import annotations

import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ProtocolError

from benchloop_client import _tls
from benchloop_client.addresses import Proxy
from benchloop_client.errors import NetworkError
from benchloop_client.settings import Settings

#: Connections that a pool keeps; also the most that adaptive concurrency uses.
KEPT = 64
#: Nobody waits minutes for a handshake, whatever the time limit for answers is.
_CONNECT_LIMIT = 20.0
_WATCH = 0.1

_thread = threading.local()


class Connections:
    """Requests over shared pools, one per (proxy, scheme). `cancel`, once set, cuts every open connection within a tenth of a second.

    Raises `ConfigError` at once for certificates that were named and cannot be used.
    """

    def __init__(self, settings: Settings, cancel: threading.Event) -> None:
        self._settings = settings
        self._cancel = cancel
        #: Is told each request with its outcome, where somebody wants to know.
        self.tell: Callable[[str], None] | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._managers: dict[tuple[str | None, str], urllib3.PoolManager] = {}
        self._live: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._timeout = urllib3.Timeout(connect=min(settings.timeout, _CONNECT_LIMIT), read=settings.timeout)
        # Certificates that a person named and that cannot be used are their mistake, to be told before anything is asked.
        self._tls = _tls.context(settings) if settings.trust and settings.origin.scheme == "https" else None

    def request(self, method: str, url: str, headers: Mapping[str, str], body: Iterable[bytes] | None) -> urllib3.BaseHTTPResponse:
        """Send and return as soon as the headers are in; body unread, redirects and errors left to the caller. Raises urllib3's errors."""
        _thread.reused = False
        began, outcome = time.monotonic(), "no answer"
        try:
            answer = self._manager(url).request(
                method, url, headers=headers, body=body, timeout=self._timeout, retries=False, redirect=False,
                preload_content=False, decode_content=False,
            )  # fmt: skip
            outcome = str(answer.status)
            return answer
        except Exception as error:
            outcome = f"no answer ({type(error).__name__})"
            raise
        finally:
            if self.tell is not None:
                self.tell(f"{method} {self._shown(url)} {outcome} after {time.monotonic() - began:.2f} s")

    def _shown(self, url: str) -> str:
        """An address as it may be told: what stands in the query for another machine may be a signature."""
        return url if url.startswith(self._settings.host + "/") else url.partition("?")[0]

    def close(self) -> None:
        """Close the pools and cut what is still in use."""
        self._closed.set()
        with self._lock:
            for manager in self._managers.values():
                manager.clear()
        self._cut()

    def _manager(self, url: str) -> urllib3.PoolManager:
        if self._closed.is_set():
            raise NetworkError("the client is closed")
        key = (self._settings.proxies.for_url(url), urlsplit(url).scheme.lower())
        with self._lock:
            if not self._managers:
                threading.Thread(target=self._watch, name="benchloop-cancel", daemon=True).start()
            if key not in self._managers:
                self._managers[key] = self._make(*key)
            return self._managers[key]

    def _make(self, proxy: str | None, scheme: str) -> urllib3.PoolManager:
        options: dict[str, Any] = {"num_pools": 8, "maxsize": self._settings.concurrency or KEPT}
        if scheme == "https" or (proxy and proxy.startswith("https")):
            self._tls = self._tls or _tls.context(self._settings)
            options["ssl_context"] = self._tls
        manager = _proxied(proxy, options) if proxy else urllib3.PoolManager(**options)
        manager.pool_classes_by_scheme = _pool_classes(self._live)
        return manager

    def _watch(self) -> None:
        while not self._closed.wait(_WATCH):
            if self._cancel.is_set():
                self._cut()

    def _cut(self) -> None:
        for live in list(self._live):
            try:
                # Not SSLSocket.shutdown: it takes the TLS object away from under the thread that reads from it.
                socket.socket.shutdown(live, socket.SHUT_RDWR)
            except OSError:
                continue


def took_old_connection(error: Exception) -> bool:
    """True if this thread's last request broke on a connection that had served before, with no byte of an answer."""
    return (
        bool(getattr(_thread, "reused", False))
        and isinstance(error, (ProtocolError, ConnectionError))
        and "IncompleteRead" not in str(error)
    )


class _Noted:
    """Mixed into the connections: notes each open socket, and whether a request took a connection that had served before."""

    live: ClassVar[weakref.WeakSet[socket.socket]]
    sock: socket.socket | None
    _requests = 0

    def connect(self) -> None:
        self._requests = 0
        super().connect()  # type: ignore[misc]
        if isinstance(self.sock, socket.socket):
            self.live.add(self.sock)

    def request(self, *args: Any, **options: Any) -> None:
        _thread.reused = self.sock is not None and self._requests > 0
        super().request(*args, **options)  # type: ignore[misc]
        self._requests += 1


def _pool_classes(live: weakref.WeakSet[socket.socket]) -> dict[str, type[HTTPConnectionPool]]:
    plain = type("PlainConnection", (_Noted, HTTPConnection), {"live": live})
    secure = type("SecureConnection", (_Noted, HTTPSConnection), {"live": live})
    return {
        "http": type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
        "https": type("SecurePool", (HTTPSConnectionPool,), {"ConnectionCls": secure}),
    }


def _proxied(address: str, options: dict[str, Any]) -> urllib3.ProxyManager:
    proxy = Proxy.of(address)
    headers = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else None
    return urllib3.ProxyManager(str(proxy), proxy_headers=headers, proxy_ssl_context=options.get("ssl_context"), **options)
