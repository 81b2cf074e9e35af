"""The one body of every error answer, whoever raised it: a feature, the framework, or a bug."""

from __future__ import annotations

import errno
import re
from http import HTTPStatus
from typing import Any

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, SerializationException, ValidationException

from benchloop_client.contract.errors import STATUS, Code, ErrorBody
from benchloop_server.kit.db import passing_fault
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.verified import DamagedBlob

_log = structlog.get_logger("benchloop_server")
_CODES = {status: code for code, status in STATUS.items()}
_SPACE = re.compile(r"\s+")

AnyRequest = Request[Any, Any, Any]


def on_domain_error(request: AnyRequest, error: DomainError) -> Response[ErrorBody]:
    """What a feature raised."""
    return _answer(request, error.code, error.message, headers=error.headers)


def on_damage(request: AnyRequest, error: DamagedBlob) -> Response[ErrorBody]:
    """Stored bytes are missing or not what was stored; the log line beside this one names the blob."""
    _log.error("damaged", request_id=_request_id(request), path=request.scope["path"], blob=error.sha256)
    return _answer(request, Code.DATA_DAMAGED, "the stored data of this answer is missing or damaged on the server; its log names the blob")


def on_framework_error(request: AnyRequest, error: HTTPException) -> Response[ErrorBody]:
    """What Litestar raised: unknown route, wrong method, unreadable body, a parameter of the wrong type."""
    code = _CODES.get(error.status_code, Code.BAD_REQUEST if error.status_code < 500 else Code.INTERNAL)
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() in {"allow", "www-authenticate"}}
    return _answer(request, code, _sentence(request, error, code), headers=headers)


def on_bug(request: AnyRequest, error: Exception) -> Response[ErrorBody]:
    """Anything else is ours: the log has the traceback, the caller gets the id to find it by."""
    fault = passing_fault(error)
    if fault == "busy":
        return _answer(request, Code.UNAVAILABLE, "the database is busy; try again")
    if fault == "full" or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return _answer(request, Code.STORAGE_FULL, "the server's disk is full")
    _log.error("failed", request_id=_request_id(request), path=request.scope["path"], exc_info=error)
    return _answer(request, Code.INTERNAL, "the server failed on this request; its log has the reason under this request id")


def _sentence(request: AnyRequest, error: HTTPException, code: Code) -> str:
    if code is Code.NOT_FOUND:
        return f"there is no route {request.scope['path']!r}"
    if code is Code.METHOD_NOT_ALLOWED:
        return f"{request.scope['method']} is not served on {request.scope['path']!r}"
    if isinstance(error, ValidationException) and isinstance(error.extra, list) and error.extra:
        return "; ".join(_field(item) for item in error.extra)
    if isinstance(error.__cause__, SerializationException):
        return f"the body is not what this route takes: {error.detail}"
    return str(error.detail or HTTPStatus(error.status_code).phrase)


def _field(item: dict[str, str]) -> str:
    name = "the body" if item.get("key") in {None, "data"} else f"`{item['key']}`"
    return f"{name}: {item.get('message', 'invalid')}"


def _answer(request: AnyRequest, code: Code, message: str, *, headers: dict[str, str] | None = None) -> Response[ErrorBody]:
    line = _SPACE.sub(" ", message).strip()
    body = ErrorBody(error=line, code=code.value, request_id=_request_id(request))
    return Response(body, status_code=STATUS[code], headers=headers, media_type="application/json")


def _request_id(request: AnyRequest) -> str:
    return str(request.scope.get("benchloop_request_id", ""))


HANDLERS: dict[Any, Any] = {DomainError: on_domain_error, DamagedBlob: on_damage, HTTPException: on_framework_error, Exception: on_bug}
