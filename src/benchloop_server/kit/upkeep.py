"""How the server tidies up after itself and hands out what is large; bytes and seconds."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """A group is packed when it was quiet for `quiet_seconds`, or `settled_seconds` once every expected job is there. A pack has at most
    `pack_bytes`. A worker that has been silent for `lease_seconds` is dead. Files of at least `link_bytes` may be fetched straight from the
    object store, when `links` says so, for `link_seconds`.
    """

    quiet_seconds: float = 600.0
    settled_seconds: float = 60.0
    pack_bytes: int = 64 * _MIB
    lease_seconds: float = 20.0
    links: bool = False
    link_bytes: int = 32 * _MIB
    link_seconds: int = 900
