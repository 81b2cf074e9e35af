"""Requests and what becomes of them: the gate before, the key on the way, statuses, redirects and repeats after."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

from benchloop_client import _answers as answers
from benchloop_client._calls import Body, Call
from benchloop_client._connect import Unreached
from benchloop_client._connections import Connections, Stale
from benchloop_client._gate import Gate
from benchloop_client._links import is_from_link, is_link, link_headers
from benchloop_client._rate import Traffic
from benchloop_client._retry import CROWDED_STATUSES, Budget, Retryable, Stop
from benchloop_client._stream import Stream
from benchloop_client._wire import Answer, Broken
from benchloop_client.addresses import Origin
from benchloop_client.contract.digests import CONTENT_DIGEST, fits
from benchloop_client.contract.version import KEY_HEADER, __version__
from benchloop_client.errors import ApiError, AuthError, NetworkError
from benchloop_client.settings import Settings

T = TypeVar("T")

MAX_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_STALE_TRIES = 8
#: Seconds before it is asked what arrived of a body that broke off.
_SETTLING = 0.25
#: Kinds of requests whose header lines are kept.
_KNOWN = 64
_FIELD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\0\r\n]*")


class Http:
    """Sends calls over one shared set of kept-alive connections; safe between threads."""

    def __init__(self, settings: Settings, cancel: threading.Event) -> None:
        self._settings = settings
        self.stop = Stop(cancel, settings.deadline)
        self.gate = Gate(self.stop, settings.concurrency, host=str(settings.origin), patience=settings.patience)
        self.connections = Connections(settings, self.stop)
        self.traffic = Traffic(settings.limit_rate, wait=cancel.wait)
        self._takes_links = True
        self._home = f"{settings.host}/"
        self._known: dict[object, str] = {}

    def close(self) -> None:
        """Close every connection, also those in use."""
        self.connections.close()

    def json(self, call: Call) -> Any:
        """The decoded answer of `call`, None for an empty one. Redirects are never followed."""
        anew = call.body.anew if call.body else None
        if anew is None:
            return self._repeat(lambda: self._json_once(call), repeatable=call.repeatable)
        calls: Iterator[Callable[[], Call]] = chain([lambda: call], repeat(lambda: self._anew(call, anew)))
        return self._repeat(lambda: self._json_once(next(calls)()), repeatable=call.repeatable)

    def _anew(self, call: Call, body: Callable[[], Body]) -> Call:
        """The same call with what there is still to send. The server may need a moment to see that the connection is gone."""
        self.stop.wait(_SETTLING)
        return replace(call, body=body())

    def open(self, call: Call) -> Stream:
        """The answer of `call` as a stream; redirects are followed without the key. The caller closes it."""
        following = replace(call, follow=True)
        return self._repeat(lambda: self._open_once(following), repeatable=call.repeatable)

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
        budget: Budget | None = None
        while True:
            self.stop.check()
            try:
                return once()
            except Retryable as fault:
                self.stop.check()
                if not (repeatable or fault.unsent):
                    raise fault.error from None
                budget = budget or self.new_budget()
                self._pause(budget, fault)

    def _pause(self, budget: Budget, fault: Retryable) -> None:
        """Wait before the next try: alone after a failure of one request, all together where the server asks for less."""
        if not (fault.crowded and isinstance(fault.error, ApiError)):
            budget.pause(fault)
        elif fault.news:
            budget.spend(fault)

    def _json_once(self, call: Call) -> Any:
        with self._open_once(call) as stream:
            try:
                raw = stream.read()
            except NetworkError as error:
                raise Retryable(error) from None
        # What a coding was undone from has a digest of its own.
        if not stream.coding and not fits(raw, stream.headers.get(CONTENT_DIGEST)):
            raise Retryable(NetworkError(f"the answer from {Origin.of(stream.url)} was damaged on the way", broken_body=True))
        try:
            return answers.json_value(stream.status, raw)
        except ApiError as error:
            raise self._masked(error) from None

    def _open_once(self, call: Call) -> Stream:
        url = self.url(call)
        if not url.startswith(self._home):
            self._refuse_clear_text(self._settings.host, url, 0)
        hops, asked = 0, url
        answer, news = self._send(call, url)
        while call.follow and answer.status in _REDIRECTS:
            if is_link(answer) and url.startswith(self._home):
                answer, news = self._by_link(call, url, answer)
                continue
            hops += 1
            try:
                url = self._next_hop(url, answer, hops)
            finally:
                answer.close()
            answer, news = self._send(call, url)
        try:
            if answer.status not in {200, 206} or hops or answers.is_html(answer.headers):
                self._check(call, answer, url, redirected=hops > 0)
        except BaseException as error:
            answer.close()
            if isinstance(error, Retryable):
                error.news = news
            raise
        return Stream(self, call, answer, url, redirected=url != asked)

    def _by_link(self, call: Call, url: str, offered: Answer) -> tuple[Answer, bool]:
        """What the address that our server signed gives. A store that cannot be reached from here, or refuses, is no reason to fail: then
        the server's own answer, and no more such addresses are asked for.
        """
        offered.close()
        try:
            answer, _ = self._send(replace(call, headers=link_headers(call.headers)), self._next_hop(url, offered, 1))
            if is_from_link(answer, call.headers):
                answer.headers.update({name: offered.headers[name] for name in ("etag", "accept-ranges") if name in offered.headers})
                return answer, True
            answer.close()
        except (Retryable, ApiError, NetworkError):
            pass
        self._takes_links = False
        return self._send(call, url)

    def url(self, call: Call) -> str:
        """The full address of `call`, whose path may be an address of its own; query values that are None are left out."""
        query = urlencode([(name, _text(value)) for name, value in (call.query or {}).items() if value is not None], errors="surrogatepass")
        if "://" in call.path.split("?")[0]:
            return call.path
        return f"{self._settings.host}/{call.path.lstrip('/')}" + (f"?{query}" if query else "")

    def _send(self, call: Call, url: str) -> tuple[Answer, bool]:
        """The answer, its body unread; and, where it is a refusal, whether that is news."""
        headers = self._headers(call, url)
        began = self.gate.enter()
        answered, news = False, True
        asked_at = time.monotonic()
        try:
            answer = self._asked(call, url, headers)
            answered = answer.status not in CROWDED_STATUSES
            if not answered:
                news = self.gate.refused(began, answers.asked_pause(answer.headers))
            return answer, news
        except (Broken, Unreached, OSError) as error:
            self.stop.check()
            fault = answers.transport_fault(error, Origin.of(url))
            if isinstance(fault, Retryable) and fault.crowded:
                self.gate.slowed(began)
            raise fault from None
        finally:
            self.gate.leave(began, answered=answered, seconds=None if call.body else time.monotonic() - asked_at)

    def _asked(self, call: Call, url: str, headers: str) -> Answer:
        """Send, once more where a kept connection turned out to be closed: that says nothing about the server and costs no retry."""
        once = not call.repeatable or (call.body is not None and call.body.anew is not None)
        for attempt in range(_STALE_TRIES):
            body = self.traffic.sending(call.body.open()) if call.body else None
            try:
                return self.connections.request(call.method, url, headers, body, careful=once)
            except Stale as error:
                if once or attempt == _STALE_TRIES - 1:
                    raise Broken(str(error)) from error
        raise AssertionError("unreachable")

    def _headers(self, call: Call, url: str) -> str:
        """The header lines of a request; the key only for the configured origin."""
        coding = "zstd, gzip" if call.accept_zstd else ("identity" if call.follow else "gzip")
        at_home = url.startswith(self._home) or Origin.of(url) == self._settings.origin
        if call.body or not (call.headers is None or len(call.headers) < 2):
            return self._lines(call, coding, at_home=at_home)
        # Most requests carry the same: building their headers each time would cost more than sending them.
        kind = (coding, at_home, self._takes_links, *(call.headers or {}).items())
        known = self._known.get(kind)
        if known is None:
            if len(self._known) > _KNOWN:
                self._known.clear()
            known = self._known[kind] = self._lines(call, coding, at_home=at_home)
        return known

    def _lines(self, call: Call, coding: str, *, at_home: bool) -> str:
        named = {"User-Agent": f"benchloop-client/{__version__}", "Accept": "application/json", "Accept-Encoding": coding}
        if self._settings.api_key and at_home:
            named[KEY_HEADER] = self._settings.api_key
        if call.body:
            named |= {"Content-Type": call.body.content_type, "Content-Length": str(call.body.length)}
            if call.body.encoding:
                named["Content-Encoding"] = call.body.encoding
            if call.body.digest:
                named["Content-Digest"] = call.body.digest
        own = dict(call.headers or {})
        if not at_home:
            own.pop("Authorization", None)
        if not self._takes_links:
            own.pop("Prefer", None)
        replaced = {name.lower() for name in own}
        kept = {name: value for name, value in named.items() if name.lower() not in replaced}
        return "".join(_line(name, value) for name, value in (kept | own).items())

    def _next_hop(self, url: str, response: Answer, hops: int) -> str:
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

    def _check(self, call: Call, response: Answer, url: str, *, redirected: bool) -> None:
        """Raise what the status means; return for 2xx, and for 304 where the call asked for it."""
        status = response.status
        headers = response.headers
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

    def reopen(self, call: Call, budget: Budget, fault: Retryable) -> Answer:
        """Ask once more for `call` (a range) after a pause, or raise; for `Stream`."""
        while True:
            self._pause(budget, fault)
            try:
                return self._open_once(call).surrender()
            except Retryable as again:
                fault = again

    def new_budget(self) -> Budget:
        """The retries a stream may use to go on after a break."""
        return Budget(self._settings.retry, self.stop)

    @property
    def stall_after(self) -> float:
        """Seconds without real progress after which a body counts as stalled."""
        return self._settings.timeout


def _line(name: str, value: str) -> str:
    """A header as it goes out. Raises `ValueError` for one that would be several."""
    if not (_FIELD.fullmatch(name) and _VALUE.fullmatch(value)):
        raise ValueError(f"the header {name[:40]!r} cannot be sent")
    return f"{name}: {value}\r\n"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
