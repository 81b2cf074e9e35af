"""The error codes of the protocol, the status of each, and the one body every error answer has."""

from __future__ import annotations

from enum import Enum

import msgspec


class Code(str, Enum):
    """A stable name for what went wrong; scripts may match on it, the sentence beside it may change."""

    BAD_REQUEST = "bad_request"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    UNPROCESSABLE = "unprocessable"
    RATE_LIMITED = "rate_limited"
    DATA_DAMAGED = "data_damaged"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    STORAGE_FULL = "storage_full"


STATUS: dict[Code, int] = {
    Code.BAD_REQUEST: 400,
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.CONFLICT: 409,
    Code.TOO_LARGE: 413,
    Code.RANGE_NOT_SATISFIABLE: 416,
    Code.UNPROCESSABLE: 422,
    Code.RATE_LIMITED: 429,
    Code.DATA_DAMAGED: 500,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.STORAGE_FULL: 507,
}


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer with a status of 400 or more: one line of text, a stable code, and the id that is in the server's log."""

    error: str
    code: str
    request_id: str | None = None
