"""What a browser gets where something failed outside of a page: the one error body, as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from litestar import Response

from benchloop_client.contract.errors import Code, ErrorBody
from benchloop_server.kit.errors import DomainError
from benchloop_server.pages import routing
from benchloop_server.pages.door import AnyRequest

_NOT_PAGES = ("/openapi", "/static", "/healthz", "/readyz")

ErrorHandler = Callable[[AnyRequest, Any], Response[Any]]


def for_browsers(handlers: Mapping[Any, ErrorHandler]) -> dict[Any, ErrorHandler]:
    """The handlers, each of which answers who wants HTML with a page that says the same."""
    return {kind: _as_page(handler) for kind, handler in handlers.items()}


def _as_page(handler: ErrorHandler) -> ErrorHandler:
    def handle(request: AnyRequest, error: Any) -> Response[Any]:
        answer = handler(request, error)
        if not _wants_page(request) or not isinstance(answer.content, ErrorBody):
            return answer
        shown = DomainError(Code(answer.content.code), answer.content.error)
        return routing.html(routing.error_page(request, None, shown), status=answer.status_code or 500)

    return handle


def _wants_page(request: AnyRequest) -> bool:
    path: str = request.scope["path"]
    return "text/html" in request.headers.get("accept", "") and not path.startswith(_NOT_PAGES)
