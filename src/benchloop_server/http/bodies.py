"""Answers whose bodies are streams of bytes: their length is known before the first byte, and damage on the way breaks the connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import quote

from anyio import CancelScope, CapacityLimiter, to_thread
from litestar import Request, Response
from litestar.response import Stream

from benchloop_client.contract.compression import frame
from benchloop_client.contract.errors import Code
from benchloop_server.http.frame import HEAD
from benchloop_server.http.ranges import Unsatisfiable, accepts_zstd, byte_range, has_version, range_applies
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.pieces import cut, joined, slices, stream
from benchloop_server.kit.segments import Segment, plain_form, stored_form, total

#: Threads that read and decode streamed bodies; many large downloads share them, so that they leave the small answers' threads alone.
_STREAM_THREADS = 8
#: Plain bytes of lines in one frame.
_LINES = 1 << 20

AnyRequest = Request[Any, Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What can be sent: `length` bytes, which `open(start, stop)` gives from `start` up to (not including) `stop`. `etag` is quoted."""

    length: int
    open: Callable[[int, int], Iterator[bytes]]
    media_type: str
    etag: str | None = None
    ranges: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def attachment(name: str) -> str:
    """The `Content-Disposition` that makes a browser save the body, never show it."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._- ") else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name.encode('utf-8', 'replace'), safe='')}"


def respond(request: AnyRequest, body: Body) -> Response[Any]:
    """Answer a GET with `body`, or the part of it that was asked for: 200, 206, 304 or 416.

    The first chunk is read here, in the handler's thread, so that a missing or damaged small blob is an error answer and no torn body.
    """
    headers = _headers(body)
    if body.etag and has_version(request.headers.get("if-none-match"), body.etag):
        return Response(b"", status_code=304, headers={name: headers[name] for name in headers if name != "content-disposition"})
    start, stop, status = 0, body.length, 200
    if request.scope.get(HEAD):
        return Stream(_nothing(), headers={**headers, "content-length": str(body.length), "content-type": body.media_type})
    if (part := _part(request, body)) is not None:
        start, stop, status = *part, 206
        headers["content-range"] = f"bytes {start}-{stop - 1}/{body.length}"
    headers |= {"content-length": str(stop - start), "content-type": body.media_type}  # the handler's own type would win over `media_type`
    chunks = body.open(start, stop)
    first = next(chunks, b"")
    if len(first) == stop - start:
        # All of it is here: as a stream it would cost more in changes of threads than everything else together.
        _close(chunks)
        return Response(first, status_code=status, headers=headers, media_type=body.media_type)
    stream = _in_threads(chain([first], chunks), chunks, _limiter(request))
    return Stream(stream, status_code=status, headers=headers, media_type=body.media_type)


def framed(request: AnyRequest, segments: Callable[[], Iterable[Segment]], blobs: BlobStore, *, media_type: str, tag: str) -> Response[Any]:
    """Answer with segments: as zstd where the client reads that (nothing is decoded), else decoded while sent. `tag` names the version."""
    plain, stored = total(segments())
    compressed = accepts_zstd(request.headers.get("accept-encoding"))

    form = stored_form if compressed else plain_form

    def body(start: int, stop: int) -> Iterator[bytes]:
        return stream(cut(form(segments()), start, stop), blobs)

    headers = {"vary": "Accept-Encoding", **({"content-encoding": "zstd"} if compressed else {})}
    etag = f'"{tag}-zstd"' if compressed else f'"{tag}"'
    length = stored if compressed else plain
    return respond(request, Body(length=length, open=body, media_type=media_type, etag=etag, ranges=True, headers=headers))


def lines(request: AnyRequest, made: Callable[[], Iterable[bytes]], *, media_type: str, tag: str) -> Response[Any]:
    """Answer with lines that are cheap to make again: as zstd where the client reads that. `tag` names the version."""
    compressed = accepts_zstd(request.headers.get("accept-encoding"))
    headers = {"vary": "Accept-Encoding", **({"content-encoding": "zstd"} if compressed else {})}
    frames = [frame(chunk) for chunk in joined(made(), _LINES)] if compressed else None
    length = sum(map(len, frames if frames is not None else made()))
    body = Body(
        length=length,
        open=lambda start, stop: joined(slices(made() if frames is None else frames, start, stop)),
        media_type=media_type,
        etag=f'"{tag}-zstd"' if compressed else f'"{tag}"',
        ranges=True,
        headers=headers,
    )
    return respond(request, body)


def _headers(body: Body) -> dict[str, str]:
    headers = dict(body.headers)
    if body.ranges:
        headers["accept-ranges"] = "bytes"
    if body.etag:
        headers |= {"etag": body.etag, "cache-control": "private, no-cache"}
    return headers


def _part(request: AnyRequest, body: Body) -> tuple[int, int] | None:
    if not body.ranges or not body.etag or not range_applies(request.headers.get("if-range"), body.etag):
        return None
    try:
        return byte_range(request.headers.get("range"), body.length)
    except Unsatisfiable:
        message = f"the body has {body.length} bytes; the range asked for begins behind its end"
        raise DomainError(Code.RANGE_NOT_SATISFIABLE, message, headers={"Content-Range": f"bytes */{body.length}"}) from None


def _limiter(request: AnyRequest) -> CapacityLimiter:
    state = request.app.state
    limiter: CapacityLimiter | None = state.get("streams")
    if limiter is None:
        limiter = state["streams"] = CapacityLimiter(_STREAM_THREADS)
    return limiter


async def _in_threads(chunks: Iterator[bytes], source: Iterator[bytes], limiter: CapacityLimiter) -> AsyncIterator[bytes]:
    """Each step of the iterator in a thread. Litestar's own wrapper would take a `ValueError` in there for the end of the body."""
    try:
        while True:
            chunk = await to_thread.run_sync(next, chunks, None, limiter=limiter)
            if chunk is None:
                return
            yield chunk
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(_close, source, limiter=limiter)


async def _nothing() -> AsyncIterator[bytes]:
    no_chunks: tuple[bytes, ...] = ()
    for chunk in no_chunks:
        yield chunk


def _close(source: Iterator[bytes]) -> None:
    close = getattr(source, "close", None)
    if close is not None:
        close()
