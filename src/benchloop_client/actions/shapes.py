"""Small things that several actions do with an answer: is it an object, is the group known, what becomes of a null."""

from __future__ import annotations

from typing import Any

from benchloop_client.client import Client
from benchloop_client.errors import ApiError, NotFound


def as_object(answer: Any, what: str) -> dict[str, Any]:
    """`answer` if it is a JSON object. Raises `ApiError` otherwise."""
    if isinstance(answer, dict):
        return answer
    raise ApiError(200, f"the answer for {what} is not an object")


def must_exist(client: Client, group_id: str) -> None:
    """Raise `NotFound`, naming the group, if it does not exist. For lists, which answer an unknown group with an empty list."""
    try:
        client.group(group_id)
    except NotFound as error:
        raise NotFound(404, f"group {group_id} does not exist", code=error.code, request_id=error.request_id) from None
