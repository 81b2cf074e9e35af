"""Files that a page shows or saves: bytes of stored things under headers that let a browser neither run nor guess anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from litestar import Response
from litestar.response import Stream

from benchloop_server.http.bodies import attachment
from benchloop_server.pages.routing import HEADERS

_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"


def saved(name: str, chunks: Iterator[bytes], *, length: int, media_type: str = "application/octet-stream") -> Response[Any]:
    """A file that the browser saves under `name`. Whatever is inside, it is not opened."""
    return _sent(chunks, length, media_type, attachment(name))


def shown(chunks: Iterator[bytes], *, length: int, media_type: str) -> Response[Any]:
    """A file that may be shown inside a page: the caller has made sure of its type. For a while it is not asked for again."""
    answer = _sent(chunks, length, media_type, "inline")
    answer.headers["cache-control"] = "private, max-age=3600, immutable"
    return answer


def text(content: bytes, *, media_type: str = "application/json", name: str | None = None) -> Response[Any]:
    """Text that is there already; with a `name` it is saved."""
    disposition = "inline" if name is None else attachment(name)
    return _sent(iter([content]), len(content), f"{media_type}; charset=utf-8", disposition)


def _sent(chunks: Iterator[bytes], length: int, media_type: str, disposition: str) -> Response[Any]:
    headers = {
        **HEADERS,
        "content-type": media_type,
        "content-length": str(length),
        "content-disposition": disposition,
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
    }
    return Stream(_begun(chunks), headers=headers)


def _begun(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same chunks, the first one read now: what is missing or damaged is an error page and no torn file."""
    first = next(chunks, b"")

    def rest() -> Iterator[bytes]:
        yield first
        yield from chunks

    return rest()
