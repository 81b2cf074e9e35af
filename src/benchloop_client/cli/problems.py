"""What `--errors json` says about each failure: one record, the same fields whatever failed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import click

from benchloop_client import errors

#: `id` as asked for, with the resource or file behind a colon where only that failed, or null for what concerns the whole command; `kind`
#: from `KINDS`; `code` and `request_id` as the server gave them; `status` of the answer; `retryable`: the same may go well another time.
Problem: TypeAlias = dict[str, Any]

#: Error → the word for it. First match wins.
KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (errors.UsageError, "usage"),
    (click.UsageError, "usage"),
    (errors.AuthError, "auth"),
    (errors.NetworkError, "network"),
    (errors.NotFound, "not_found"),
    (errors.ApiError, "api"),
    (errors.NotReady, "not_ready"),
    (errors.IntegrityError, "integrity"),
    (errors.DiskFull, "disk_full"),
    (errors.LocalError, "local"),
    (OSError, "local"),
    (errors.Cancelled, "interrupted"),
    (KeyboardInterrupt, "interrupted"),
    (click.Abort, "interrupted"),
)


def of_error(error: BaseException, message: str, *, item: str | None = None, details: Sequence[str] = ()) -> Problem:
    """The record of an error; `message` is what a person reads."""
    kind = next((word for known, word in KINDS if isinstance(error, known)), "unexpected")
    found = of_text(message, item=item, kind=kind)
    found |= {name: getattr(error, name, None) for name in ("code", "status", "request_id")}
    found["retryable"] = _may_pass(error)
    return found | ({"details": list(details)} if details else {})


def of_text(message: str, *, item: str | None = None, kind: str = "failed") -> Problem:
    """The record of what is no error of the client: a condition that a command was asked to look for, an answer that is null."""
    return {"id": item, "kind": kind, "code": None, "status": None, "message": message, "request_id": None, "retryable": False}


def wanted(argv: Sequence[str]) -> bool:
    """Whether the command line asks for records: also where it cannot be parsed otherwise."""
    words = list(argv)
    words = words[: words.index("--")] if "--" in words else words
    return "--errors=json" in words or any(pair == ("--errors", "json") for pair in itertools.pairwise(words))


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, errors.ApiError):
        return error.status in errors.RETRIED_STATUSES
    if isinstance(error, errors.NotReady):
        return error.code == "wait_timeout"
    return isinstance(error, (errors.NetworkError, errors.Cancelled, KeyboardInterrupt, click.Abort))
