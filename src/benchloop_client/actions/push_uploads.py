"""Sends contents that the server lacks: small ones together in bundles, large ones alone.

It asks first, and asks again after anything that went wrong, so that hardly anything is sent twice: of a bundle that broke off the server
keeps what was whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from benchloop_client.actions.events import Moved, Watch
from benchloop_client.actions.work import Work
from benchloop_client.client import Body
from benchloop_client.contract.resources import UploadKind, UploadsCheck
from benchloop_client.errors import ApiError, BenchloopError

#: A bundle holds at most this many bytes and items; what is larger goes alone. Each batch has one under way: these are sent twice when the
#: server is killed.
BUNDLE_BYTES = 2 << 20
BUNDLE_ITEMS = 500
_CHECK = 2000
_PIECE = 1 << 17
_LABEL = "uploading"
_TYPE = "application/x-benchloop-bundle"
#: Statuses that are about the content itself.
_ABOUT_CONTENT = frozenset({400, 409, 413, 422})


@dataclass(frozen=True, slots=True)
class Shipment:
    """One content: `sha256` (hex) and `size` of its plain bytes, `length` of what `open` yields, which `encoding` says how to undo."""

    kind: UploadKind
    sha256: str
    size: int
    length: int
    open: Callable[[], Iterable[bytes]]
    encoding: str | None = None

    @property
    def header(self) -> bytes:
        """The line before it in a bundle."""
        named = {"kind": self.kind, "sha256": self.sha256, "size": self.size, "length": self.length, "encoding": self.encoding}
        return msgspec.json.encode(named) + b"\n"


def send(work: Work, shipments: Sequence[Shipment], meter: Meter) -> dict[str, BenchloopError]:
    """Send those that the server lacks. Returns what it refused, by SHA-256; anything else that goes wrong is raised."""
    missing = _missing(work, shipments)
    refused: dict[str, BenchloopError] = {}
    meter.expect(sum(shipment.length for shipment in missing))
    for bundle in _bundles(missing):
        refused |= _send(work, bundle, meter)
    return refused


class Meter:
    """Tells whoever watches how much has left, of all bundles together. Safe between threads; what is sent again counts once at most."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._sent = self._total = 0
        self._lock = threading.Lock()

    def expect(self, more: int) -> None:
        """So many bytes more will leave."""
        with self._lock:
            self._total += more

    def leaving(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """`chunks`, each counted before it leaves."""
        for chunk in chunks:
            with self._lock:
                self._sent = min(self._sent + len(chunk), self._total)
                sent, total = self._sent, self._total
            if sent < total:
                self._watch(Moved(_LABEL, sent, total))
            yield chunk

    def end(self) -> None:
        """Nothing more will leave."""
        self._watch(Moved(_LABEL, self._total, self._total))


def _missing(work: Work, shipments: Sequence[Shipment]) -> list[Shipment]:
    """Those to send, each content once."""
    found: list[Shipment] = []
    for kind in ("trajectory", "archive", "media"):
        by_hash = {shipment.sha256: shipment for shipment in shipments if shipment.kind == kind}
        hashes = iter(by_hash)
        while asked := list(islice(hashes, _CHECK)):
            answer = work.client.uploads_check(UploadsCheck(kind=kind, sha256=asked))
            found += [by_hash[sha256] for sha256 in answer.missing if sha256 in by_hash]
    return found


def _bundles(shipments: Iterable[Shipment]) -> Iterator[list[Shipment]]:
    bundle: list[Shipment] = []
    size = 0
    for shipment in shipments:
        length = len(shipment.header) + shipment.length
        if bundle and (size + length > BUNDLE_BYTES or len(bundle) >= BUNDLE_ITEMS):
            yield bundle
            bundle, size = [], 0
        bundle.append(shipment)
        size += length
    if bundle:
        yield bundle


def _send(work: Work, bundle: list[Shipment], meter: Meter) -> dict[str, BenchloopError]:
    """Send a bundle; where the server refuses something in it, find out what: the first that is missing when those before it were kept,
    else by halves.
    """
    refused: dict[str, BenchloopError] = {}
    while bundle:
        error = _delivered(work, bundle, meter)
        if error is None:
            break
        if len(bundle) == 1:
            refused[bundle[0].sha256] = error
            break
        left = _missing(work, bundle)
        first = 1 if len(left) < len(bundle) else (len(left) + 1) // 2
        refused |= _send(work, left[:first], meter)
        bundle = left[first:]
    return refused


def _delivered(work: Work, bundle: list[Shipment], meter: Meter) -> ApiError | None:
    """Send a bundle once, and of what broke off what the server lacks then. Returns what the server says about the content."""
    try:
        if len(bundle) == 1:
            work.client.upload_put(bundle[0].kind, bundle[0].sha256, _single(work, bundle[0], meter))
        else:
            work.client.uploads_bundle(_bundled(work, bundle, meter))
    except _AllThere:
        return None
    except ApiError as error:
        if error.status not in _ABOUT_CONTENT:
            raise
        return error
    return None


class _AllThere(Exception):
    """Nothing is left to send."""


def _single(work: Work, one: Shipment, meter: Meter) -> Body:
    return Body(
        one.length, lambda: meter.leaving(one.open()), encoding=one.encoding, anew=lambda: _single(work, _left(work, [one])[0], meter)
    )


def _bundled(work: Work, bundle: list[Shipment], meter: Meter) -> Body:
    length = sum(len(one.header) + one.length for one in bundle)
    return Body(length, lambda: meter.leaving(_body(bundle)), _TYPE, anew=lambda: _bundled(work, _left(work, bundle), meter))


def _left(work: Work, bundle: list[Shipment]) -> list[Shipment]:
    """Those that the server still lacks; raises `_AllThere`."""
    left = _missing(work, bundle)
    if not left:
        raise _AllThere
    return left


def _body(bundle: Iterable[Shipment]) -> Iterator[bytes]:
    """The bundle in pieces of a size worth a call of the system: each of these lets another thread go first."""
    waiting = bytearray()
    for shipment in bundle:
        waiting += shipment.header
        for piece in shipment.open():
            waiting += piece
            if len(waiting) >= _PIECE:
                yield bytes(waiting)
                waiting.clear()
    if waiting:
        yield bytes(waiting)
