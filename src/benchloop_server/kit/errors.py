"""The one exception of the service: a contract code and a sentence. `http` turns it into the one error body."""

from __future__ import annotations

from benchloop_client.contract.errors import Code


class DomainError(Exception):
    """Something the caller can be told: `code` gives the status, `message` is one line that names the thing and what to do about it."""

    def __init__(self, code: Code, message: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.headers = headers


def not_found(kind: str, name: str) -> DomainError:
    """404: the thing does not exist, or is another workspace's, which is the same to the caller."""
    return DomainError(Code.NOT_FOUND, f"{kind} {name!r} does not exist here")


def bad_request(message: str) -> DomainError:
    """400: the request cannot be understood."""
    return DomainError(Code.BAD_REQUEST, message)


def unprocessable(message: str) -> DomainError:
    """422: the request is understood, but what it says cannot be."""
    return DomainError(Code.UNPROCESSABLE, message)


def conflict(message: str) -> DomainError:
    """409: the request does not fit the present state."""
    return DomainError(Code.CONFLICT, message)
