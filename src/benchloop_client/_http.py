"""Connections, requests and streamed answers: the only file that knows the HTTP library. The key goes to one origin and nowhere else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from benchloop_client import _answers as answers
from benchloop_client._connections import Connections, took_old_connection
from benchloop_client._decode import Undecodable, decoded
from benchloop_client._rate import Traffic
from benchloop_client._retry import CROWDED_STATUSES, Budget, Gate, Retryable
from benchloop_client.addresses import Origin
from benchloop_client.contract.version import KEY_HEADER, __version__
from benchloop_client.errors import ApiError, AuthError, BenchloopError, Cancelled, NetworkError
from benchloop_client.settings import Settings

T = TypeVar("T")
Response = urllib3.BaseHTTPResponse

MAX_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: A body slower than this over a whole timeout counts as stalled, even if single bytes keep dripping in.
_LEAST_BYTES = 1024
#: This much progress earns a stream its retries back, so that a long download survives more than a few breaks.
_EARNS_RETRIES = 1 << 20
_STALE_TRIES = 8


@dataclass(frozen=True, slots=True)
class Body:
    """What a request sends: `length` bytes that `open` yields, anew at each call so that the request can be repeated."""

    length: int
    open: Callable[[], Iterable[bytes]]
    content_type: str = "application/octet-stream"
    encoding: str | None = None

    @classmethod
    def of(cls, data: bytes, *, content_type: str = "application/octet-stream", encoding: str | None = None) -> Body:
        """A body that is already in memory."""
        return cls(len(data), lambda: (data,), content_type, encoding)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `path` is joined to the configured host. `repeatable` false: only repeated if it certainly had no effect."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    body: Body | None = None
    accept_zstd: bool = False
    repeatable: bool = True
    wants_gzip: bool = False
    follow: bool = field(default=False)


class Http:
    """Sends calls over one shared set of kept-alive connections; safe between threads."""

    def __init__(self, settings: Settings, cancel: threading.Event) -> None:
        self._settings = settings
        self._cancel = cancel
        self._gate = Gate(cancel)
        self.connections = Connections(settings, cancel)
        self.traffic = Traffic(settings.limit_rate, wait=cancel.wait)
        self._count_lock = threading.Lock()
        self.pressure = 0

    def close(self) -> None:
        """Close every connection, also those in use."""
        self.connections.close()

    def json(self, call: Call) -> Any:
        """The decoded answer of `call`, None for an empty one. Redirects are never followed."""
        return self._repeat(lambda: self._json_once(call), repeatable=call.repeatable)

    def open(self, call: Call) -> Stream:
        """The answer of `call` as a stream; redirects are followed without the key. The caller closes it."""
        return self._repeat(lambda: self._open_once(replace(call, follow=True)), repeatable=call.repeatable)

    def retrying(self, work: Callable[[], T]) -> T:
        """Run `work`, again while its streams break off and retries are left."""

        def once() -> T:
            try:
                return work()
            except NetworkError as error:
                if error.broken_body:
                    raise Retryable(error) from None
                raise

        return self._repeat(once)

    def _repeat(self, once: Callable[[], T], *, repeatable: bool = True) -> T:
        budget = Budget(self._settings.retry, self._cancel)
        while True:
            self._gate.wait()
            try:
                return once()
            except Retryable as fault:
                if self._cancel.is_set():
                    raise Cancelled from None
                if not (repeatable or fault.unsent):
                    raise fault.error from None
                self._pause(budget, fault)

    def _pause(self, budget: Budget, fault: Retryable) -> None:
        if not fault.crowded:
            budget.pause(fault)
            return
        with self._count_lock:
            self.pressure += 1
        self._gate.hold(budget.spend(fault))

    def _json_once(self, call: Call) -> Any:
        with self._open_once(call) as stream:
            try:
                raw = stream.read()
            except NetworkError as error:
                raise Retryable(error) from None
        try:
            return answers.json_value(stream.status, raw)
        except ApiError as error:
            raise self._masked(error) from None

    def _open_once(self, call: Call) -> Stream:
        url = self.url(call)
        hops = 0
        self._refuse_clear_text(self._settings.host, url, 0)
        response = self._send(call, url)
        while call.follow and response.status in _REDIRECTS:
            hops += 1
            url = self._next_hop(url, response, hops)
            response.close()
            response = self._send(call, url)
        try:
            self._check(call, response, url, redirected=hops > 0)
        except BaseException:
            response.close()
            raise
        return Stream(self, call, response, url)

    def url(self, call: Call) -> str:
        """The full address of `call`, whose path may be an address of its own; query values that are None are left out."""
        query = urlencode([(name, _text(value)) for name, value in (call.query or {}).items() if value is not None], errors="surrogatepass")
        if "://" in call.path.split("?")[0]:
            return call.path
        return f"{self._settings.host}/{call.path.lstrip('/')}" + (f"?{query}" if query else "")

    def _send(self, call: Call, url: str) -> Response:
        headers = self._headers(call, url)
        for attempt in range(_STALE_TRIES):
            try:
                return self.connections.request(call.method, url, headers, self.traffic.sending(call.body.open()) if call.body else None)
            except (HTTPError, OSError) as error:
                if self._cancel.is_set():
                    raise Cancelled from None
                # A kept-alive connection that the server closed meanwhile says nothing about the server: a new one costs no retry.
                if took_old_connection(error) and call.repeatable and attempt < _STALE_TRIES - 1:
                    continue
                self._raise_transport(error, url)
        raise AssertionError("unreachable")

    def _raise_transport(self, error: Exception, url: str) -> NoReturn:
        raise answers.transport_fault(error, Origin.of(url)) from None

    def _headers(self, call: Call, url: str) -> dict[str, str]:
        coding = "zstd, gzip" if call.accept_zstd else ("identity" if call.follow else "gzip")
        headers = {"User-Agent": f"benchloop-client/{__version__}", "Accept": "application/json", "Accept-Encoding": coding}
        if self._settings.api_key and Origin.of(url) == self._settings.origin:
            headers[KEY_HEADER] = self._settings.api_key
        if call.body:
            headers |= {"Content-Type": call.body.content_type, "Content-Length": str(call.body.length)}
            if call.body.encoding:
                headers["Content-Encoding"] = call.body.encoding
        own = dict(call.headers or {})
        if Origin.of(url) != self._settings.origin:
            own.pop("Authorization", None)
        return headers | own

    def _next_hop(self, url: str, response: Response, hops: int) -> str:
        target = urljoin(url, response.headers.get("location", ""))
        new = self._refuse_clear_text(url, target, response.status)
        if hops > MAX_REDIRECTS:
            raise ApiError(response.status, f"more than {MAX_REDIRECTS} redirects, the last one to {new}")
        return target

    @staticmethod
    def _refuse_clear_text(source: str, target: str, status: int) -> Origin:
        """The origin of `target`. Raises `ApiError` if it is none, holds credentials, or is clear text where `source` is not."""
        try:
            new = Origin.of(target)
        except ValueError:
            raise ApiError(status, "the server names an address that cannot be used") from None
        if Origin.of(source).scheme == "https" and new.scheme == "http":
            raise ApiError(status, f"the way from https to {new} in clear text was not taken")
        if urlsplit(target).username is not None:
            raise ApiError(status, f"the address at {new} holds credentials and was not asked")
        return new

    def _check(self, call: Call, response: Response, url: str, *, redirected: bool) -> None:
        """Raise what the status means; return for 2xx, and for 304 where the call asked for it."""
        status = response.status
        headers = answers.lower(response.headers)
        at_home = Origin.of(url) == self._settings.origin
        if 200 <= status < 300 or (status == 304 and "If-None-Match" in (call.headers or {})):
            if answers.is_html(headers) and (not at_home or (redirected and answers.names_a_login(url))):
                raise AuthError(f"{Origin.of(url)} answered with a web page, probably a login: the server sent us there; is the key valid?")
            return
        if status in _REDIRECTS:
            raise answers.redirect_error(status, url, headers.get("location", ""))
        if status == 401 and at_home:
            raise AuthError(self._settings.redact(answers.refusal(response)))
        if status == 407 and self._settings.proxies.for_url(url):
            raise NetworkError(answers.PROXY_REFUSES)
        error = self._masked(answers.api_error(status, response))
        if answers.may_pass(status):
            crowded = status in CROWDED_STATUSES
            raise Retryable(error, after=answers.asked_pause(headers), crowded=crowded, unsent=status == 429)
        raise error

    def _masked(self, error: ApiError) -> ApiError:
        return type(error)(error.status, self._settings.redact(error.detail), code=error.code, request_id=error.request_id)

    def reopen(self, call: Call, budget: Budget, fault: Retryable) -> Response:
        """Ask once more for `call` (a range) after a pause, or raise; for `Stream`."""
        while True:
            budget.pause(fault)
            self._gate.wait()
            try:
                return self._open_once(call).surrender()
            except Retryable as again:
                fault = again

    def new_budget(self) -> Budget:
        """The retries a stream may use to go on after a break."""
        return Budget(self._settings.retry, self._cancel)

    @property
    def stall_after(self) -> float:
        """Seconds without real progress after which a body counts as stalled."""
        return self._settings.timeout

    def check_cancel(self) -> None:
        """Raise `Cancelled` if the work was cancelled."""
        if self._cancel.is_set():
            raise Cancelled


class Stream:
    """An open answer. Iterate over it for plain bytes (codings undone) or `read()` it; close it or use `with`.

    `redirected`: it came from another address than was asked. `status` 200, 206 or 304; `headers` with lower-case names; `length`: plain
    bytes to come, None if unknown; `wire_length` and `received`: bytes on the wire, for progress; `offset`: where a partial answer starts.
    A body that breaks off is taken up again where it stopped if the server supports that, else `NetworkError` with `broken_body` is raised;
    a short or damaged body never passes.
    """

    def __init__(self, http: Http, call: Call, response: Response, url: str) -> None:
        self._http = http
        self._call = call
        self._response = response
        self._done = False
        self.url = url
        self.redirected = url != http.url(call)
        self.status = response.status
        self.headers = answers.lower(response.headers)
        self.wire_length = answers.number(self.headers.get("content-length"))
        self.received = 0
        self.offset = answers.range_start(self.headers.get("content-range")) if self.status == 206 else 0

    @property
    def unchanged(self) -> bool:
        """True when the server says that the version named by `etag` is still the current one."""
        return self.status == 304

    @property
    def etag(self) -> str | None:
        """The version of what is sent, as the server names it."""
        return self.headers.get("etag")

    @property
    def html(self) -> bool:
        """True when a web page came."""
        return answers.is_html(self.headers)

    @property
    def coding(self) -> str:
        """The content coding on the wire, empty for none."""
        coding = self.headers.get("content-encoding", "").strip().lower()
        return "" if coding == "identity" else coding

    @property
    def length(self) -> int | None:
        """How many plain bytes iterating yields, if that is known beforehand."""
        return None if self.coding else self.wire_length

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection back if everything was read, else drop it."""
        if self._done:
            self._response.release_conn()
        else:
            self._response.close()

    def read(self) -> bytes:
        """All of it."""
        return b"".join(self)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from decoded(self._wire(), self.coding, wants_gzip=self._call.wants_gzip)
        except Undecodable as error:
            raise NetworkError(f"{error}", broken_body=True) from None

    def surrender(self) -> Response:
        """Hand the raw answer over; this object is not used any more."""
        return self._response

    def _wire(self) -> Iterator[bytes]:
        budget = self._http.new_budget()
        earned_at = 0
        while True:
            try:
                for piece in self._pieces():
                    self.received += len(piece)
                    yield piece
                    if self.received - earned_at > _EARNS_RETRIES:
                        budget, earned_at = self._http.new_budget(), self.received
                self._done = True
                return
            except (HTTPError, OSError) as error:
                self._http.check_cancel()
                fault = answers.broken_body(error, Origin.of(self.url), self.received, self.wire_length)
                self._take_up(budget, fault)

    def _pieces(self) -> Iterator[bytes]:
        spent, arrived = 0.0, 0
        while True:
            self._http.check_cancel()
            begun = time.monotonic()
            piece = self._response.read1(self._http.traffic.piece, decode_content=False)
            if not piece:
                if self.wire_length is not None and self.received < self.wire_length:
                    raise answers.short_body(self.received, self.wire_length)
                return
            spent, arrived = spent + time.monotonic() - begun, arrived + len(piece)
            self._http.traffic.took(len(piece))
            if spent > self._http.stall_after:
                if arrived < _LEAST_BYTES:
                    raise TimeoutError(f"only {arrived} bytes in {spent:.0f} s")
                spent, arrived = 0.0, 0
            yield piece

    def _take_up(self, budget: Budget, fault: Retryable) -> None:
        """Ask for the rest of the very same version, or raise the error."""
        self._response.close()
        etag = self.headers.get("etag", "")
        can_resume = self.headers.get("accept-ranges", "").lower() == "bytes" and etag.startswith('"') and self.received
        if self._call.method != "GET" or not can_resume:
            raise fault.error from None
        start = self.offset + self.received
        kept = {name: value for name, value in (self._call.headers or {}).items() if name not in {"Range", "If-Range", "If-None-Match"}}
        call = replace(self._call, headers={**kept, "Range": f"bytes={start}-", "If-Range": etag})
        try:
            response = self._http.reopen(call, budget, fault)
        except Cancelled:
            raise
        except BenchloopError:
            raise fault.error from None
        headers = answers.lower(response.headers)
        same = headers.get("etag") == etag and headers.get("content-encoding", "") == self.headers.get("content-encoding", "")
        if response.status != 206 or answers.range_start(headers.get("content-range")) != start or not same:
            response.close()
            raise fault.error from None
        self._response = response


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
