"""What a browser says about where it is and where it came from, and which of that is believed. Pure."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?\Z", re.ASCII)
_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Browsers:
    """`names` (lower case): hosts that are this server, beside `localhost` and every address that is written as a number.

    Another name in `Host` may be that of a page elsewhere whose name was made to lead here. A number cannot be made to.
    """

    names: frozenset[str] = frozenset()

    def knows(self, host: str) -> bool:
        """Whether the `Host` header names this server."""
        name = host_name(host)
        return name is not None and (name == "localhost" or name in self.names or is_address(name))


def host_name(host: str) -> str | None:
    """The name in a `Host` header without its port, lower case; None for what is none."""
    found = _HOST.match(host)
    return None if found is None else found.group(1).lower().removeprefix("[").removesuffix("]")


def port_of(host: str) -> str:
    """The port in a `Host` header, empty without one."""
    found = _HOST.match(host)
    return "" if found is None else found.group(2) or ""


def is_loopback(host: str) -> bool:
    """Whether the `Host` header names this very machine, so that nothing travels."""
    name = host_name(host)
    if name is None:
        return False
    return name == "localhost" or (is_address(name) and ipaddress.ip_address(name).is_loopback)


def is_address(name: str) -> bool:
    """Whether the name is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(origin: str | None, host: str) -> bool:
    """Whether the page at `origin` came from `host`. A proxy may have taken the TLS away, so the scheme is not compared."""
    parts = urlsplit(origin or "")
    default = _PORTS.get(parts.scheme)
    if default is None or not parts.netloc:
        return False
    theirs, ours = host_name(parts.netloc), host_name(host)
    return theirs is not None and theirs == ours and (port_of(parts.netloc) or default) == (port_of(host) or default)
