"""Addresses: what a host and a proxy may look like, whom a key belongs to, and which way leads there."""

from __future__ import annotations

import base64
import functools
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from benchloop_client.errors import UsageError

#: What `--proxy` takes for "no proxy, whatever the environment says".
NO_PROXY_AT_ALL = "none"

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port: what a key belongs to."""

    scheme: str
    host: str
    port: int

    @staticmethod
    def of(url: str) -> Origin:
        """The origin of an absolute http(s) URL. Raises `ValueError` for anything else."""
        return _origin(url)

    @property
    def loopback(self) -> bool:
        """True for this machine's own addresses."""
        return _is_loopback(self.host)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@functools.lru_cache(maxsize=512)
def _origin(url: str) -> Origin:
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname:
        raise ValueError("not an absolute http or https URL")
    return Origin(scheme, parts.hostname.lower().rstrip("."), parts.port or _PORTS[scheme])


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy: its origin, and the name and password it wants (in no repr), decoded."""

    origin: Origin
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, address: str) -> Proxy:
        """`[http[s]://][user:password@]name[:port]`. Raises `UsageError`, which shows no credentials, for anything else."""
        try:
            parts = urlsplit(address if "://" in address else f"http://{address}")
            origin = Origin.of(f"{parts.scheme}://{parts.netloc.rsplit('@', 1)[-1]}")
        except ValueError:
            kind = address.partition("://")[0] if "://" in address else ""
            raise UsageError(_unusable(kind)) from None
        user, password = parts.username, parts.password
        return cls(origin, unquote(user) if user is not None else None, unquote(password or "") if user is not None else None)

    @property
    def authorization(self) -> str | None:
        """The `Proxy-Authorization` header, None for a proxy without credentials."""
        if self.user is None:
            return None
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode('utf-8', 'surrogateescape')).decode()}"

    def __str__(self) -> str:
        return str(self.origin)


@dataclass(frozen=True, slots=True)
class Proxies:
    """Proxy addresses by scheme (may hold credentials, hence no repr) and the hosts that are reached without one.

    `explicit`: named for us rather than for every program, so that even loopback goes through it.
    """

    by_scheme: Mapping[str, str] = field(default_factory=dict, repr=False)
    no_proxy: tuple[str, ...] = ()
    explicit: bool = False

    @classmethod
    def of(cls, named: str | None, env: Mapping[str, str]) -> Proxies:
        """The proxy `named` by option or configuration file, else those of the environment. Raises `UsageError` for a `named` one that
        cannot be used.
        """
        excluded = env.get("no_proxy") or env.get("NO_PROXY") or ""
        no_proxy = tuple(part.strip().lower() for part in re.split(r"[,\s]+", excluded) if part.strip())
        if named and named.strip().lower() == NO_PROXY_AT_ALL:
            return cls()
        if named:
            Proxy.of(named)
            return cls({"all": named}, no_proxy, explicit=True)
        return cls(_of_environment(env), no_proxy)

    def for_url(self, url: str) -> str | None:
        """The proxy that `url` goes through, or None. Loopback never goes through one of the environment."""
        origin = Origin.of(url)
        proxy = self.by_scheme.get(origin.scheme) or self.by_scheme.get("all")
        if not proxy or (origin.loopback and not self.explicit) or any(_matches(origin, pattern) for pattern in self.no_proxy):
            return None
        return proxy


def check_host(host: str) -> str:
    """`host` without trailing slashes. Raises `UsageError` unless it is http(s)://name[:port][/prefix] and nothing more."""
    shown = repr(host if "@" not in host else host.rsplit("@", 1)[1])
    try:
        parts = urlsplit(host.strip())
        Origin.of(host.strip())
    except ValueError:
        raise UsageError(f"host {shown} must be a full address such as https://bench.example.com") from None
    if _carries_more(parts) or re.search(r"[\s\x00-\x1f\\]", host.strip()):
        raise UsageError(f"host {shown} must not hold credentials, spaces, a query or a fragment")
    return host.strip().rstrip("/")


def _carries_more(parts: SplitResult) -> bool:
    return bool(parts.username is not None or parts.password is not None or parts.query or parts.fragment)


def _unusable(kind: str) -> str:
    if kind and kind.lower() not in _PORTS:
        return f"proxies of kind {kind[:20]!r} are not supported: --proxy, HTTP_PROXY and HTTPS_PROXY name an http or https proxy"
    return f"the proxy must be an address such as http://proxy.example.com:3128, or {NO_PROXY_AT_ALL!r} for none"


def _of_environment(env: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for scheme in ("http", "https", "all"):
        # Under CGI the upper-case variable can be set by whoever sends a request (httpoxy).
        upper = None if scheme == "http" and env.get("REQUEST_METHOD") else env.get(f"{scheme.upper()}_PROXY")
        proxy = env.get(f"{scheme}_proxy") or upper
        if proxy:
            found[scheme] = proxy if "://" in proxy else f"http://{proxy}"
    return found


def _matches(origin: Origin, pattern: str) -> bool:
    if pattern == "*":
        return True
    name, _, port = pattern.rpartition(":") if pattern.count(":") == 1 else (pattern, "", "")
    if port and port != str(origin.port):
        return False
    name = name.removeprefix("*").lstrip(".")
    return origin.host == name or origin.host.endswith(f".{name}") or _in_network(origin.host, name)


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
