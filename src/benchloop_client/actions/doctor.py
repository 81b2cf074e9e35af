"""Looks at everything between a command and its data, and says of each piece whether it is well, and the way out where it is not."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from benchloop_client import _probe
from benchloop_client._probe import Certificate, Reached, Unreached
from benchloop_client.actions import account, machine
from benchloop_client.actions.findings import Finding
from benchloop_client.client import Client
from benchloop_client.contract.resources import Version
from benchloop_client.contract.version import API_VERSION
from benchloop_client.errors import ApiError, AuthError, BenchloopError, Cancelled, ConfigError, NetworkError
from benchloop_client.settings import Resolved, Settings

#: No look waits longer than this for one step, in seconds.
PATIENCE = 10.0
_SKEW_LIMIT = 30.0
_EXPIRES_SOON = dt.timedelta(days=14)
_TICK = 0.1

T = TypeVar("T")

_WAY_OUT = {
    "dns": "check the host's spelling (bl config get host), and whether this machine needs a proxy or a VPN",
    "connect": "check host and port, and that the server runs; a firewall may need --proxy",
    "proxy": "check the proxy's address and credentials; --proxy none goes without",
    "tls": "check that the port speaks TLS, and which versions of it",
    "answer": "check that an http(s) server listens there",
}


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at: the values with their sources, the settings made of them (or why there are none), and how to open a client."""

    found: Resolved | BenchloopError
    settings: Settings | BenchloopError
    open_client: Callable[[Settings], Client]
    cancel: threading.Event


def examine(patient: Patient) -> Iterator[Finding]:
    """One finding after another, as they come; a step that hangs is given up after `PATIENCE` seconds."""
    yield machine.program()
    if isinstance(patient.found, BenchloopError):
        yield Finding.fail("config", str(patient.found), "mend the file at that line, move it away, or name another with --config")
        return
    yield machine.file(patient.found)
    yield from machine.values(patient.found)
    settings = patient.settings
    if isinstance(settings, BenchloopError):
        yield Finding.fail("settings", str(settings), "change the value with `bl config set`, or unset it")
        return
    for hint in settings.hints:
        yield Finding.warn("settings", hint, "rename the variable")
    yield from _way(settings, patient)
    yield from machine.output(settings.output_dir, settings.came_from.get("output_dir", "default"))


def _way(settings: Settings, patient: Patient) -> Iterator[Finding]:
    """The way to the server, each step only if the one before was taken."""
    proxy = settings.proxies.for_url(settings.host)
    source = settings.came_from.get("proxy", "default") if settings.proxies.explicit else "the environment"
    about_proxy = machine.proxy(proxy, source)
    yield about_proxy
    if about_proxy.status == "fail":
        return
    try:
        # What lies behind a proxy that itself speaks TLS cannot be taken apart; the client's own request must do.
        if proxy is None or not proxy.startswith("https:"):
            yield from _steps(settings, patient, through_proxy=proxy is not None)
    except Unreached as error:
        yield Finding.fail(error.step, str(error), _trust_way_out(settings) if error.trust else _WAY_OUT[error.step], "network")
        return
    except ConfigError as error:
        yield Finding.fail("tls", str(error), "name a PEM file that can be read with --cacert, or unset the variable")
        return
    yield from _server(replace(settings, timeout=min(settings.timeout, PATIENCE), retry=0), patient)


def _steps(settings: Settings, patient: Patient, *, through_proxy: bool) -> Iterator[Finding]:
    """Name, connection, certificate and clock."""
    if not through_proxy:
        found = _bounded(lambda: _probe.addresses(settings.origin), "dns", patient.cancel)
        yield Finding.ok("dns", f"{settings.origin.host} is {', '.join(found[:4])}" + (" …" if len(found) > 4 else ""))
    reached = _bounded(lambda: _probe.reach(settings, timeout=PATIENCE / 2), "connect", patient.cancel)
    yield Finding.ok("connect", f"{settings.origin} answers (status {reached.status})")
    yield _tls(settings, reached.certificate)
    yield _clock(reached)


def _tls(settings: Settings, certificate: Certificate | None) -> Finding:
    if certificate is None:
        if settings.origin.loopback:
            return Finding.ok("tls", "none, and none needed on this machine")
        return Finding.warn("tls", "none: key and data travel in clear text", "name the host with https://")
    text = f"{certificate.version}, signed by {certificate.issuer or 'nobody named'}"
    if certificate.ends is None:
        return Finding.ok("tls", text)
    text += f", until {certificate.ends:%Y-%m-%d}"
    if certificate.ends - dt.datetime.now(dt.timezone.utc) < _EXPIRES_SOON:
        return Finding.warn("tls", text, "tell whoever runs the server that its certificate ends soon")
    return Finding.ok("tls", text)


def _clock(reached: Reached) -> Finding:
    if reached.skew is None:
        return Finding.ok("clock", "the server does not say what time it is")
    text = f"{abs(reached.skew):.0f} s {'behind' if reached.skew > 0 else 'ahead of'} the server's"
    if abs(reached.skew) <= _SKEW_LIMIT:
        return Finding.ok("clock", "in step with the server's")
    return Finding.warn("clock", text, "set this machine's clock (or the server's): certificates and keys end by it")


def _server(settings: Settings, patient: Patient) -> Iterator[Finding]:
    client = patient.open_client(settings)
    try:
        version = client.server_version()
        if version is None:
            yield Finding.warn(
                "server", "an older or another server: it does not say its version", "only the documented commands work with it"
            )
        else:
            yield _version(version)
        yield _key(client, settings)
    except Cancelled:
        raise
    except AuthError as error:
        yield Finding.fail("key", str(error), "bl config set --api-key-prompt stores a new one", "key")
    except NetworkError as error:
        yield Finding.fail("server", str(error), _WAY_OUT["connect"], "network")
    except BenchloopError as error:
        yield Finding.fail("server", str(error), "ask whoever runs the server; its log has the request")


def _version(version: Version) -> Finding:
    text = f"{version.server} {version.version}, api {version.api}: {', '.join(version.features) or 'no features'}"
    if version.api > API_VERSION:
        return Finding.warn("server", f"{text} (this client knows api {API_VERSION})", "upgrade this client")
    return Finding.ok("server", text)


def _key(client: Client, settings: Settings) -> Finding:
    try:
        account_of = account.accepted(client)
    except ApiError as error:
        if error.status == 403:
            return Finding.fail("access", f"the key is known, but may not read: {error.detail}", "ask for a key with scope read", "key")
        raise
    if account_of is None:
        word = "the key is accepted" if settings.api_key else "the server wants no key"
        return Finding.ok("access", f"{word}; this server does not say whose it is")
    scopes = [str(scope) for scope in account_of.get("scopes") or ()]
    text = f"user {account_of.get('user')}, workspace {account_of.get('workspace')}, scopes {', '.join(scopes) or 'none'}"
    if "write" not in scopes:
        return Finding.warn("access", text, "for bl push and changes, ask for a key with scope write")
    return Finding.ok("access", text)


def _trust_way_out(settings: Settings) -> str:
    named = ", ".join(trust.source for trust in settings.trust)
    return "if a company's authority signed it, name that with --cacert FILE or SSL_CERT_FILE" + (f" (now: {named})" if named else "")


def _bounded(look: Callable[[], T], step: _probe.Step, cancel: threading.Event) -> T:
    """`look()` in a thread that may be left behind: a resolver cannot be interrupted. Raises `Unreached` when it takes too long."""
    result: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(look())
        except BaseException as error:  # noqa: BLE001 - handed over to the thread that asked
            failure.append(error)

    thread = threading.Thread(target=run, name="benchloop-look", daemon=True)
    thread.start()
    for _ in range(int(2 * PATIENCE / _TICK)):
        thread.join(_TICK)
        if cancel.is_set():
            raise Cancelled
        if not thread.is_alive():
            break
    if failure:
        raise failure[0]
    if not result:
        raise Unreached(step, "no answer in time")
    return result[0]
