"""One request as the rest of the client describes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchloop_client.contract.digests import stated


@dataclass(frozen=True, slots=True)
class Body:
    """What a request sends: `length` bytes that `open` yields, anew at each call so that the request can be repeated. `digest`: the value
    of its `Content-Digest`, for bodies that nothing else vouches for. `anew`: gives what is to be sent where the request is repeated, for
    bodies of which a part may have arrived; it may ask the server, and what it raises ends the request.
    """

    length: int
    open: Callable[[], Iterable[bytes]]
    content_type: str = "application/octet-stream"
    encoding: str | None = None
    digest: str | None = None
    anew: Callable[[], Body] | None = None

    @classmethod
    def of(cls, data: bytes, *, content_type: str = "application/octet-stream", encoding: str | None = None) -> Body:
        """A body that is already in memory."""
        return cls(len(data), lambda: (data,), content_type, encoding)

    @classmethod
    def json(cls, data: bytes) -> Body:
        """JSON text; its digest goes with it."""
        return cls(len(data), lambda: (data,), "application/json", digest=stated(data))


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `path` is joined to the configured host. `repeatable` false: only repeated if it certainly had no effect."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    body: Body | None = None
    accept_zstd: bool = False
    repeatable: bool = True
    wants_gzip: bool = False
    follow: bool = field(default=False)


def if_changed(etag: str | None) -> dict[str, str]:
    """The header that has an unchanged version answered with 304."""
    return {"If-None-Match": etag} if etag else {}


def rest_of(start: int, if_range: str | None, end: int | None = None) -> dict[str, str]:
    """The headers that ask for bytes `start` up to `end` (None: to the last) of the version `if_range`; none for all of them."""
    if start <= 0 and end is None:
        return {}
    return {"Range": f"bytes={start}-{'' if end is None else end - 1}", **({"If-Range": if_range} if if_range else {})}


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes `start` up to `end` (None: to the last) of the version `etag`. A server may answer with all of another version."""

    start: int
    etag: str
    end: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        """What asks for it."""
        return rest_of(self.start, self.etag, self.end)


def version_or_rest(offset: int | None, etag: str | None) -> dict[str, str]:
    """`if_changed` without an offset, else `rest_of`."""
    return if_changed(etag) if offset is None else rest_of(offset, etag)
