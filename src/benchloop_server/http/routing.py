"""How a function becomes a route: its method, path and scope come from the contract's operations table and nowhere else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from litestar.handlers import HTTPRouteHandler, delete, get, patch, post, put
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import SecurityRequirement

from benchloop_client.contract.errors import STATUS, Code, ErrorBody
from benchloop_client.contract.operations import OPERATIONS, Operation
from benchloop_server.http.auth import needs

_MAKERS: dict[str, Any] = {"GET": get, "POST": post, "PUT": put, "PATCH": patch, "DELETE": delete}
_TAG = re.compile(r"/openapi/([\w-]+)")


def operation(name: str, **options: Any) -> Callable[[Callable[..., Any]], HTTPRouteHandler]:
    """Make the function the handler of the operation `name`. A plain `def` runs in a thread, an `async def` on the event loop.

    `options` go to Litestar's handler (for example `request_max_body_size`, `media_type`, `responses`).
    """
    row = OPERATIONS[name]

    def decorate(function: Callable[..., Any]) -> HTTPRouteHandler:
        public = row.scope == "public"
        settings: dict[str, Any] = {
            "guards": [] if public else [needs(row.scope, creates=row.method == "PUT")],
            "operation_id": row.name,
            "summary": (inspect.getdoc(function) or row.name).splitlines()[0],
            "tags": _TAG.findall(row.path)[:1],
            "security": None if public else [_KEY],
            "status_code": 200,
            "responses": _errors(row),
            "sync_to_thread": None if inspect.iscoroutinefunction(function) else True,
        }
        path = re.sub(r"\{(\w+)\}", r"{\1:str}", row.path)
        handler: HTTPRouteHandler = _MAKERS[row.method](path, **{**settings, **options})(function)
        return handler

    return decorate


_KEY: SecurityRequirement = {"ApiKey": []}


def _errors(row: Operation) -> dict[int, ResponseSpec]:
    """The error answers that the description promises: all have the one body."""
    codes = [] if row.scope == "public" else [Code.BAD_REQUEST, Code.UNAUTHENTICATED, Code.FORBIDDEN, Code.NOT_FOUND]
    if row.method != "GET":
        codes += [Code.CONFLICT, Code.TOO_LARGE, Code.UNPROCESSABLE, Code.STORAGE_FULL]
    described = (*codes, Code.INTERNAL, Code.UNAVAILABLE)
    return {STATUS[code]: ResponseSpec(ErrorBody, description=code.value, generate_examples=False) for code in described}
