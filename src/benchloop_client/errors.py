"""Everything that can go wrong on the client's side, as one tree of exceptions; `cli/exits.py` alone gives each its exit code.

BenchloopError            one line of text, at most 300 characters, never a dump of an answer, never a key
├─ UsageError             the call or the options cannot work as given
│  └─ ConfigError         the configuration file cannot be used
├─ AuthError              the server refused the key, or a login page answered
├─ NetworkError           no answer arrived, or it broke off
│  └─ DeadlinePassed      ... before the time given for everything was over
│     └─ HostBusy         ... and for minutes the server has only asked for fewer requests
├─ ApiError               the server answered with an error (`status`, `code`, `request_id`)
│  ├─ NotFound            ... that the thing asked for does not exist
│  └─ RangeRefused        ... that it has not the part of a file that was asked for (`total`)
├─ NotReady               what was waited for did not come
├─ IntegrityError         what arrived is not what was announced
├─ LocalError             this machine could not do its part (permission, path)
│  └─ DiskFull            ... because no space is left
└─ Cancelled              the work was stopped on request
"""

from __future__ import annotations

import re

from benchloop_client.contract.version import KEY_PREFIX

MESSAGE_LIMIT = 300
#: Answers that are worth asking again.
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})

_KEY_LIKE = re.compile(KEY_PREFIX + r"[A-Za-z0-9]{6,}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def one_line(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """`text` as one printable line of at most `limit` characters; anything that looks like a Benchloop key is masked."""
    line = " ".join(_UNPRINTABLE.sub(" ", text).split())
    line = _KEY_LIKE.sub("***", line.encode("utf-8", "replace").decode("utf-8"))
    return line if len(line) <= limit else line[: limit - 1] + "…"


class BenchloopError(Exception):
    """Base of all errors raised by the client; `message` (also `str()`) is one line for a person."""

    def __init__(self, message: str) -> None:
        self.message = one_line(message)
        super().__init__(self.message)


class UsageError(BenchloopError):
    """The options or arguments cannot work as given; nothing was done."""


class ConfigError(UsageError):
    """The configuration file cannot be read or does not hold what it should; the message names file and line."""


class AuthError(BenchloopError):
    """The server refused the key (401), or a login page answered in its place."""


class NetworkError(BenchloopError):
    """No usable answer arrived. `broken_body` is true when the answer had begun: then asking again is not yet counted as a retry.
    `unreached`: not even a connection came about.
    """

    def __init__(self, message: str, *, broken_body: bool = False, unreached: bool = False) -> None:
        self.broken_body = broken_body
        self.unreached = unreached
        super().__init__(f"network: {message}")


class DeadlinePassed(NetworkError):
    """The time given for everything was over before the work was done; what had arrived is kept for the next run."""


class HostBusy(DeadlinePassed):
    """For as long as anybody can be expected to wait, a server has answered every request with 429 or 503."""


class ApiError(BenchloopError):
    """The server answered with an error. `status` is the HTTP status, `code` the stable code of the protocol where the server gave one,
    `detail` the server's own sentence, `request_id` what its log calls the request.
    """

    def __init__(self, status: int, detail: str, *, code: str | None = None, request_id: str | None = None) -> None:
        self.status = status
        self.code = code
        self.detail = one_line(detail, 220)
        self.request_id = one_line(request_id, 40) if request_id else None
        suffix = f" (request {self.request_id})" if self.request_id else ""
        super().__init__(f"API error {status}: {self.detail}{suffix}")


class NotFound(ApiError):
    """The server does not know the thing asked for (404)."""


class RangeRefused(ApiError):
    """The server has not the part of a file that was asked for (416). `total`: how many bytes the file has, None if it did not say."""

    total: int | None = None


class NotReady(BenchloopError):
    """What was waited for did not come. `code` says why: `not_analysed` (never made there), `analysis_failed`, `wait_timeout`."""

    def __init__(self, message: str, *, code: str) -> None:
        self.code = code
        super().__init__(message)


class IntegrityError(BenchloopError):
    """What arrived differs from what was announced: another length, another digest, an incomplete list. Nothing of it was kept."""


class LocalError(BenchloopError):
    """This machine could not do its part: no permission, a path that leads out of the output directory, a name that is taken."""


class DiskFull(LocalError):
    """No space is left where the output goes; further downloads are pointless."""


class Cancelled(BenchloopError):
    """The work was stopped on request (Ctrl-C, SIGTERM, `cancel` set)."""

    def __init__(self, message: str = "cancelled") -> None:
        super().__init__(message)
