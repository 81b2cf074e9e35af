"""The routes of uploads. Bodies are streamed: a request holds at most a few hundred KiB of them at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Protocol

from anyio import CancelScope, CapacityLimiter, to_thread
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from benchloop_client.contract.resources import Uploaded, UploadedList, UploadsCheck, UploadsMissing
from benchloop_server.features.uploads import service
from benchloop_server.features.uploads.service import BundleIntake, Intake, SingleIntake
from benchloop_server.http.parameters import GivenPrincipal, GivenServices, PathText
from benchloop_server.http.routing import operation

#: Threads that judge and store uploads; few, because each may hold a whole document.
_UPLOAD_THREADS = 4
_PIECE = 1 << 18

AnyRequest = Request[Any, Any, Any]


class _Feeder(Protocol):
    def feed(self, data: bytes) -> None:
        """Take the next bytes of the body."""

    def finish(self) -> list[Uploaded]:
        """The answer, once the body has ended."""


@operation("uploads_check")
def check_uploads(services: GivenServices, principal: GivenPrincipal, data: JSONBody[UploadsCheck]) -> UploadsMissing:
    """Which of these uploads have to be sent."""
    return service.check(services, principal, data)


@operation("uploads_bundle", request_max_body_size=None)
async def send_bundle(request: AnyRequest, services: GivenServices, principal: GivenPrincipal) -> UploadedList:
    """Take in several uploads: items one after another, each a JSON line and then its bytes."""
    start = partial(BundleIntake, max_items=services.limits.bundle_items)
    return UploadedList(results=await _receive(request, Intake(services, principal), start))


@operation("upload_put", request_max_body_size=None)
async def put_upload(request: AnyRequest, services: GivenServices, principal: GivenPrincipal, kind: PathText, sha256: PathText) -> Uploaded:
    """Take in one upload, named by the SHA-256 of its plain bytes. Sending it again changes nothing."""
    encoding = request.headers.get("content-encoding")
    claim = service.claim_of(services, kind, sha256, encoding=encoding, length=request.content_length)
    results = await _receive(request, Intake(services, principal), partial(SingleIntake, claim=claim))
    return results[0]


async def _receive(request: AnyRequest, intake: Intake, start: Callable[[Intake], _Feeder]) -> list[Uploaded]:
    limiter = _limiter(request)
    try:
        feeder = await to_thread.run_sync(start, intake, limiter=limiter)
        async for piece in _pieces(request):
            await to_thread.run_sync(feeder.feed, piece, limiter=limiter)
        return await to_thread.run_sync(feeder.finish, limiter=limiter)
    except BaseException:
        with CancelScope(shield=True):
            await to_thread.run_sync(intake.keep, limiter=limiter)
        raise
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(intake.close, limiter=limiter)


async def _pieces(request: AnyRequest) -> AsyncIterator[bytes]:
    """The body in pieces that are worth a change of thread."""
    waiting = bytearray()
    async for chunk in request.stream():
        waiting += chunk
        if len(waiting) >= _PIECE:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


def _limiter(request: AnyRequest) -> CapacityLimiter:
    state = request.app.state
    limiter: CapacityLimiter | None = state.get("uploads")
    if limiter is None:
        limiter = state["uploads"] = CapacityLimiter(_UPLOAD_THREADS)
    return limiter


ROUTES: list[HTTPRouteHandler] = [check_uploads, send_bundle, put_upload]
