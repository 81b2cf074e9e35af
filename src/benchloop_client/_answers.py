"""What an answer, or its absence, means: statuses, error bodies, web pages in the wrong place and broken transports become our errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from benchloop_client._connect import Unreached
from benchloop_client._decode import Undecodable, decoded, parse_json
from benchloop_client._retry import Retryable, asked_pause
from benchloop_client._wire import Answer, Broken
from benchloop_client.addresses import Origin
from benchloop_client.errors import RETRIED_STATUSES, ApiError, AuthError, BenchloopError, NetworkError, NotFound, RangeRefused

__all__ = ["asked_pause"]

_ERROR_BODY_LIMIT = 64 * 1024
_LOGIN = re.compile(r"(?i)(?:^|[/._-])(?:login|log-in|signin|sign-in|sso|oauth2?|saml2?|auth|authorize)(?:[/._?-]|$)")
_HTML_START = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_RANGE = re.compile(r"bytes\s+(\d+)-(\d+)/(\d+|\*)")

#: What a 407 means; asking again does not help.
PROXY_REFUSES = "the proxy wants another name and password (407): --proxy http://NAME:PASSWORD@HOST:PORT, or the proxy variables, hold them"


def number(value: str | None) -> int | None:
    """A header's number, None if it is absent or none."""
    return int(value) if value and value.isdecimal() and value.isascii() else None


def content_range(value: str | None) -> tuple[int, int | None]:
    """The first byte of a `Content-Range` and the length of the whole; -1 and None where it does not say."""
    match = _RANGE.match(value or "")
    return (int(match.group(1)), number(match.group(3))) if match else (-1, None)


def is_html(headers: Mapping[str, str]) -> bool:
    """True when the headers announce a web page."""
    return "text/html" in headers.get("content-type", "").lower()


def names_a_login(url: str) -> bool:
    """True when host or path look like a login page."""
    parts = urlsplit(url)
    return bool(_LOGIN.search(parts.hostname or "") or _LOGIN.search(parts.path))


def may_pass(status: int) -> bool:
    """True for statuses that are worth asking again."""
    return status in RETRIED_STATUSES


def json_value(status: int, raw: bytes) -> Any:
    """The JSON of a good answer. Raises `ApiError` that says what came instead, without quoting it."""
    try:
        return parse_json(raw)
    except ValueError as error:
        raise ApiError(status, _not_json(raw, str(error))) from None


def api_error(status: int, response: Answer) -> ApiError:
    """The error of an answer with a bad status: the server's own sentence where it sent one."""
    kind = {404: NotFound, 416: RangeRefused}.get(status, ApiError)
    raw = _some_of(response)
    try:
        body = parse_json(raw)
    except ValueError:
        body = raw.decode("utf-8", "replace") if _is_short_text(raw) else None
    if isinstance(body, dict):
        request_id = body.get("request_id")
        code = body.get("code")
        return kind(
            status,
            _sentence(body) or _standard(status),
            code=code if isinstance(code, str) else None,
            request_id=request_id if isinstance(request_id, str) else None,
        )
    return kind(status, body if isinstance(body, str) and body.strip() else _standard(status))


def refusal(response: Answer) -> str:
    """The sentence for a 401."""
    detail = api_error(401, response).detail
    words = "" if detail == _standard(401) else f" ({detail})"
    return f"the server refused the API key{words}: set a valid one with --api-key, BENCHLOOP_API_KEY or `bl config set --api-key`"


def redirect_error(status: int, url: str, location: str) -> BenchloopError:
    """What a redirect of a JSON route means: a login, a moved server, or a server error."""
    target = urljoin(url, location)
    try:
        here, there = Origin.of(url), Origin.of(target)
    except ValueError:
        return ApiError(status, "the server answered with a redirect that leads nowhere")
    if names_a_login(target) or here.host != there.host:
        return AuthError(f"the server redirects to {there} instead of answering: a login is needed there, or the key is not valid")
    if here != there:
        return ApiError(status, f"the server redirects to {there}: name that as the host")
    return ApiError(status, "the server answered with a redirect instead of JSON")


def transport_fault(error: Exception, origin: Origin) -> Retryable | BenchloopError:
    """A failed request in words; `Retryable` unless asking again cannot help."""
    if isinstance(error, Unreached):
        return _unreached(error, origin)
    if isinstance(error, TimeoutError):
        return Retryable(NetworkError(f"{origin} did not answer in time"), crowded=True)
    return Retryable(NetworkError(f"the connection to {origin} broke: {_words(error)}"))


def broken_body(error: Exception, origin: Origin, received: int, expected: int | None) -> Retryable:
    """A body that did not come to its end."""
    of = f" of {expected}" if expected is not None else ""
    why = "stalled" if isinstance(error, TimeoutError) else "broke off"
    return Retryable(NetworkError(f"the answer from {origin} {why} after {received}{of} bytes", broken_body=True))


def _unreached(error: Unreached, origin: Origin) -> Retryable | BenchloopError:
    if error.status == 407:
        return NetworkError(PROXY_REFUSES)
    if error.step == "trust":
        # Asking again would not change what a certificate says.
        return NetworkError(f"no trusted TLS connection to {origin}: {error}", unreached=True)
    words = {
        "tls": f"no trusted TLS connection to {origin}: {error}",
        "proxy": f"the proxy on the way to {origin} failed: {error}",
        "name": f"host {origin.host} is not known",
        "time": f"{origin} does not accept a connection in time",
    }.get(error.step, f"cannot connect to {origin}: {error}")
    return Retryable(NetworkError(words, unreached=True), crowded=error.step == "time", unsent=True)


def _sentence(body: Mapping[str, Any]) -> str | None:
    for name in ("error", "message", "detail"):
        value = body.get(name)
        if isinstance(value, Mapping):
            value = value.get("message")
        if isinstance(value, str) and value.strip():
            return value
    return None


def _standard(status: int) -> str:
    words = {400: "bad request", 401: "unauthenticated", 403: "not allowed", 404: "not found", 409: "conflict", 413: "too large",
             422: "refused", 429: "too many requests", 500: "server error", 502: "bad gateway", 503: "unavailable", 504: "gateway timeout",
             507: "the server's storage is full"}  # fmt: skip
    return words.get(status, "the server gave no reason")


def _is_short_text(raw: bytes) -> bool:
    return len(raw) < 2000 and not _HTML_START.match(raw) and b"\0" not in raw and not raw.lstrip().startswith(b"<")


def _not_json(raw: bytes, reason: str) -> str:
    if _HTML_START.match(raw) or raw.lstrip()[:1] == b"<":
        return "server answered a web page, not JSON"
    return f"server answered something that is not usable JSON: {reason}"


def _some_of(response: Answer) -> bytes:
    """The start of an error body; whatever goes wrong with it does not matter any more."""
    raw = b""
    try:
        while len(raw) < _ERROR_BODY_LIMIT and (piece := response.read(_ERROR_BODY_LIMIT - len(raw))):
            raw += piece
    except (Broken, OSError):
        pass
    try:
        return b"".join(decoded([raw], response.headers.get("content-encoding", "")))
    except Undecodable:
        return b""


def _words(error: BaseException) -> str:
    """The reason of a transport error, in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return (str(error) or type(error).__name__)[:120]
