"""An open answer as a stream of plain bytes, that goes on by itself where the connection broke if the server can do that."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from types import TracebackType
from typing import Protocol, TypeVar

from benchloop_client import _answers as answers
from benchloop_client._calls import Call
from benchloop_client._decode import Undecodable, decoded
from benchloop_client._rate import Traffic
from benchloop_client._retry import Budget, Retryable, Stop
from benchloop_client._wire import Answer, Broken
from benchloop_client.addresses import Origin
from benchloop_client.errors import BenchloopError, Cancelled, DeadlinePassed, IntegrityError, NetworkError

Piece = TypeVar("Piece", bytes, memoryview)

#: A body slower than this over a whole timeout counts as stalled, even if single bytes keep dripping in.
_LEAST_BYTES = 1024
#: This much progress earns a stream its retries back, so that a long download survives more than a few breaks.
_EARNS_RETRIES = 1 << 20
#: Large pieces are collected in a buffer of that size and handed out when it holds so much.
_BUFFER, _ENOUGH = 1 << 19, 1 << 18
#: What arrives slowly is passed on after so many seconds, for whoever watches.
_SOON = 0.1
#: From so many bytes a second on they are waited for by the bufferful.
_FAST = 8 << 20
#: How compressed bodies begin; JSON never does.
_MAGIC = ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\x1f\x8b", "gzip"))
_RANGE_END = re.compile(r"bytes=\d+-(\d+)")


class Source(Protocol):
    """What a stream needs of who opened it."""

    traffic: Traffic
    stop: Stop

    def reopen(self, call: Call, budget: Budget, fault: Retryable) -> Answer: ...

    def new_budget(self) -> Budget: ...

    @property
    def stall_after(self) -> float: ...


class Stream:
    """An open answer. Iterate over it for plain bytes (codings undone) or `read()` it; close it or use `with`.

    `redirected`: it came from another address than was asked. `status` 200, 206 or 304; `headers` with lower-case names; `length`: plain
    bytes to come, None if unknown; `wire_length` and `received`: bytes on the wire, for progress; `offset`: where a partial answer starts,
    `total`: bytes of the whole on the wire, None if unknown.
    A body that breaks off is taken up again where it stopped if the server supports that, else `NetworkError` with `broken_body` is raised;
    a short or damaged body never passes.
    """

    def __init__(self, source: Source, call: Call, answer: Answer, url: str, *, redirected: bool) -> None:
        self._source = source
        self._call = call
        self._answer = answer
        self.url = url
        self.redirected = redirected
        self.status = answer.status
        self.headers = answer.headers
        self.wire_length = answers.number(self.headers.get("content-length"))
        self.received = 0
        self.offset, self.total = 0, self.wire_length
        if self.status == 206:
            self.offset, self.total = answers.content_range(self.headers.get("content-range"))

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

    @property
    def resumable(self) -> bool:
        """Whether the server can send the rest of this very version later."""
        return self.headers.get("accept-ranges", "").lower() == "bytes" and self.headers.get("etag", "").startswith('"')

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection back if everything was read, else drop it."""
        self._answer.close()

    def read(self) -> bytes:
        """All of it."""
        return b"".join(self)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from decoded(self.wire(), self.coding, wants_gzip=self._call.wants_gzip)
        except Undecodable as error:
            raise NetworkError(f"{error}", broken_body=True) from None

    def blocks(self) -> Iterator[bytes | memoryview]:
        """As iterating, in large pieces; each is only valid until the next is asked for."""
        if self.coding:
            yield from self
            return
        buffer = memoryview(bytearray(_BUFFER if self.wire_length is None else max(1, min(_BUFFER, self.wire_length))))
        yield from self._going_on(lambda: self._filled(buffer))

    def wire(self) -> Iterator[bytes]:
        """The bytes as they are on the wire, coding and all."""
        return self._going_on(self._pieces)

    def surrender(self) -> Answer:
        """Hand the raw answer over; this object is not used any more."""
        return self._answer

    def _going_on(self, pieces: Callable[[], Iterator[Piece]]) -> Iterator[Piece]:
        """All `pieces`, taken up again where they break off."""
        budget = self._source.new_budget()
        earned_at = 0
        while True:
            try:
                for piece in pieces():
                    self.received += len(piece)
                    yield piece
                    if self.received - earned_at > _EARNS_RETRIES:
                        budget, earned_at = self._source.new_budget(), self.received
                return
            except (Broken, OSError) as error:
                self._source.stop.check()
                fault = answers.broken_body(error, Origin.of(self.url), self.received, self.wire_length)
                self._take_up(budget, fault)

    def _pieces(self) -> Iterator[bytes]:
        pace = _Pace(self._source)
        while piece := self._answer.read(self._source.traffic.piece):
            pace.took(len(piece))
            yield piece

    def _filled(self, buffer: memoryview) -> Iterator[memoryview]:
        pace, filled, limited = _Pace(self._source), 0, self._source.traffic.limit is not None
        over, told_at = False, time.monotonic()
        while not over:
            broken: Exception | None = None
            try:
                room = buffer[filled : filled + self._source.traffic.piece] if limited else buffer[filled:]
                got = self._answer.fill(room, whole=pace.fast and not limited)
                pace.took(got)
                filled, over = filled + got, not got
            except (Broken, OSError) as error:
                broken = error
            late = time.monotonic() - told_at >= _SOON
            if filled >= _ENOUGH or filled == len(buffer) or (filled and (over or late or broken is not None)):
                yield buffer[:filled]
                filled, told_at = 0, time.monotonic()
            if broken is not None:
                raise broken

    def _take_up(self, budget: Budget, fault: Retryable) -> None:
        """Ask for the rest of the very same version, or raise the error."""
        self._answer.close()
        etag = self.headers.get("etag", "")
        if self._call.method != "GET" or not (self.resumable and self.received):
            raise fault.error from None
        start = self.offset + self.received
        asked = self._call.headers or {}
        last = _RANGE_END.fullmatch(asked.get("Range", ""))
        kept = {name: value for name, value in asked.items() if name not in {"Range", "If-Range", "If-None-Match"}}
        wanted = f"bytes={start}-{last.group(1) if last else ''}"
        call = replace(self._call, headers={**kept, "Range": wanted, "If-Range": etag})
        try:
            answer = self._source.reopen(call, budget, fault)
        except (Cancelled, DeadlinePassed):
            raise
        except BenchloopError:
            raise fault.error from None
        headers = answer.headers
        same = headers.get("etag") == etag and headers.get("content-encoding", "") == self.headers.get("content-encoding", "")
        if answer.status != 206 or answers.content_range(headers.get("content-range"))[0] != start or not same:
            answer.close()
            raise fault.error from None
        self._answer = answer


class _Pace:
    """Watches that a body moves: a server that drips single bytes is as good as gone."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spent, self._arrived = 0.0, 0
        self._asked_at = time.monotonic()
        #: Whether bytes came so fast just now that waiting for many of them is no wait.
        self.fast = False

    def took(self, count: int) -> None:
        """`count` bytes arrived. Raises `TimeoutError` when it is too few for too long, and what `Stop.check` raises."""
        source = self._source
        now = time.monotonic()
        took = now - self._asked_at
        self.fast = count >= _FAST * took
        self._spent, self._arrived = self._spent + took, self._arrived + count
        source.traffic.took(count)
        source.stop.check()
        if self._spent > source.stall_after:
            if self._arrived < _LEAST_BYTES:
                raise TimeoutError(f"only {self._arrived} bytes in {self._spent:.0f} s")
            self._spent, self._arrived = 0.0, 0
        self._asked_at = time.monotonic()


def plain(raw: Iterable[bytes]) -> Iterator[bytes]:
    """The plain bytes of a JSON body that was kept as it is on the wire; its first bytes tell whether it is compressed. Raises
    `IntegrityError` if it is damaged.
    """
    source = iter(raw)
    head = next(source, b"")
    coding = next((name for magic, name in _MAGIC if head.startswith(magic)), "")
    try:
        yield from decoded(chain([head], source), coding)
    except Undecodable as error:
        raise IntegrityError(f"{error}") from None
