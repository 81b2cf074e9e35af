"""Sends contents that the server lacks: small ones together in bundles, large ones alone; asks first, so that nothing is sent twice."""

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

#: A bundle holds at most this many bytes and items; what is larger goes alone.
BUNDLE_BYTES = 8 << 20
BUNDLE_ITEMS = 500
_CHECK = 2000
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
    for result in work.results(_bundles(missing), lambda bundle: _send(work, bundle, meter)):
        if result.error is not None:
            raise result.error
        refused |= result.value or {}
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
    """Send a bundle; where the server refuses something in it, find out what by halves."""
    try:
        if len(bundle) == 1:
            one = bundle[0]
            work.client.upload_put(one.kind, one.sha256, Body(one.length, lambda: meter.leaving(one.open()), encoding=one.encoding))
        else:
            length = sum(len(one.header) + one.length for one in bundle)
            work.client.uploads_bundle(Body(length, lambda: meter.leaving(_body(bundle)), _TYPE))
    except ApiError as error:
        if error.status not in _ABOUT_CONTENT:
            raise
        if len(bundle) == 1:
            return {bundle[0].sha256: error}
        middle = len(bundle) // 2
        return _send(work, bundle[:middle], meter) | _send(work, bundle[middle:], meter)
    return {}


def _body(bundle: Iterable[Shipment]) -> Iterator[bytes]:
    for shipment in bundle:
        yield shipment.header
        yield from shipment.open()
