"""One plain look at the server, step by step and without the key: name, connection, TLS, and the clock that its answer shows."""

from __future__ import annotations

import datetime as dt
import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from benchloop_client import _tls
from benchloop_client.addresses import Origin, Proxy
from benchloop_client.contract.operations import OPERATIONS
from benchloop_client.errors import BenchloopError
from benchloop_client.settings import Settings

Step = Literal["dns", "connect", "proxy", "tls", "answer"]


class Unreached(BenchloopError):
    """The look ended at `step`; `trust`: because the certificate was refused."""

    def __init__(self, step: Step, message: str, *, trust: bool = False) -> None:
        self.step = step
        self.trust = trust
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the server showed: the version of TLS, who signed, and when it ends (UTC, None where it does not say)."""

    version: str
    issuer: str
    ends: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Reached:
    """What was met: the certificate (None over plain http), the status of the answer, and the server's clock minus ours in seconds."""

    certificate: Certificate | None
    status: int
    skew: float | None


def addresses(origin: Origin) -> tuple[str, ...]:
    """The addresses of a host. Raises `Unreached`. May take as long as the system's resolver likes."""
    try:
        found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreached("dns", f"host {origin.host} is not known ({_words(error)})") from None
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def reach(settings: Settings, *, timeout: float) -> Reached:
    """Connect as a request does, through the proxy if there is one (one that is spoken to in clear text), and ask for the server's version.
    `timeout`: seconds a step.

    Raises `Unreached`, and `ConfigError` for certificates of ours that cannot be read.
    """
    origin = settings.origin
    named = settings.proxies.for_url(settings.host)
    proxy = Proxy.of(named) if named else None
    connection, target, headers = _prepared(settings, proxy, timeout)
    try:
        began = time.time()
        connection.connect()
        certificate = _certificate(connection.sock)
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        ended = time.time()
        return Reached(certificate, answer.status, _skew(answer.getheader("Date"), (began + ended) / 2))
    except (OSError, http.client.HTTPException) as error:
        raise _unreached(error, origin, proxy, answered=connection.sock is not None) from None
    finally:
        connection.close()


def _prepared(settings: Settings, proxy: Proxy | None, timeout: float) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    origin = settings.origin
    path = settings.host.split("://", 1)[1].partition("/")[2]
    target = f"/{path}{OPERATIONS['version'].path}" if path else OPERATIONS["version"].path
    authorization = {"Proxy-Authorization": proxy.authorization} if proxy and proxy.authorization else {}
    at = proxy.origin if proxy else origin
    if origin.scheme == "http":
        plain = http.client.HTTPConnection(at.host, at.port, timeout=timeout)
        return (plain, f"{origin}{target}", authorization) if proxy else (plain, target, {})
    secure = http.client.HTTPSConnection(at.host, at.port, timeout=timeout, context=_tls.context(settings))
    if proxy:
        secure.set_tunnel(origin.host, origin.port, headers=authorization)
    return secure, target, {}


def _certificate(sock: object) -> Certificate | None:
    if not isinstance(sock, ssl.SSLSocket):
        return None
    shown: Mapping[str, Any] = sock.getpeercert() or {}
    names = {name: value for part in shown.get("issuer", ()) for name, value in part}
    ends = shown.get("notAfter")
    when = dt.datetime.fromtimestamp(ssl.cert_time_to_seconds(ends), dt.timezone.utc) if isinstance(ends, str) else None
    return Certificate(sock.version() or "TLS", names.get("organizationName") or names.get("commonName") or "", when)


def _skew(date: str | None, now: float) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - now if date else None
    except (ValueError, TypeError, OverflowError):
        return None


def _unreached(error: Exception, origin: Origin, proxy: Proxy | None, *, answered: bool) -> Unreached:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Unreached("tls", f"the certificate of {origin} is not trusted: {error.verify_message}", trust=True)
    if isinstance(error, ssl.SSLError) or "handshake" in str(error):
        return Unreached("tls", f"no TLS with {origin}: {_words(error)}")
    if proxy and (not answered or str(error).startswith("Tunnel")):
        return Unreached("proxy", f"the proxy {proxy} does not lead to {origin}: {_words(error)}")
    if not answered:
        return Unreached("connect", f"cannot connect to {origin}: {_words(error)}")
    return Unreached("answer", f"{origin} took the connection, but gave no answer: {_words(error)}")


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it takes too long"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text or type(error).__name__)[:120].lower()
