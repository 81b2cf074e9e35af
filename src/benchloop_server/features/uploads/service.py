"""Uploads: which are missing, and taking them in, one by one or in a bundle. An upload is visible only to its workspace, and to nobody
until a job that names it is committed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from typing import get_args

from benchloop_client.contract.errors import Code
from benchloop_client.contract.ids import SHA256
from benchloop_client.contract.resources import Uploaded, UploadKind, UploadsCheck, UploadsMissing
from benchloop_server.features.uploads import repository
from benchloop_server.features.uploads.bundle import BadBundle, Begin, Data, Event, Item, Parser
from benchloop_server.features.uploads.ending import Ending, Key
from benchloop_server.features.uploads.receiving import Claim, Judged, Receiver, limit_of
from benchloop_server.features.uploads.repository import Found, Kept
from benchloop_server.kit.db import DatabaseError
from benchloop_server.kit.errors import DomainError, bad_request, not_found, unprocessable
from benchloop_server.kit.packs import Packer
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

_KINDS = get_args(UploadKind)
#: A document above this many bytes is decoded alone, because it takes several times its size in memory meanwhile.
_LARGE = 8 << 20
_ONE_LARGE = threading.Semaphore(1)
_ENDING = Ending()


def check(services: Services, principal: Principal, asked: UploadsCheck) -> UploadsMissing:
    """Those of the asked hashes that have to be sent, in the order asked, each once. Raises `DomainError` (422)."""
    limit = services.limits.uploads_in_check
    if len(asked.sha256) > limit:
        raise unprocessable(f"{len(asked.sha256)} hashes in one request; at most {limit} can be asked for")
    for name in asked.sha256:
        if not SHA256.match(name):
            raise unprocessable(f"{name!r} is not a SHA-256 in hex")
    with services.db.read() as connection:
        known = repository.find(connection, principal, asked.kind, asked.sha256)
    if len(known) < len(asked.sha256) and _ENDING.wait(_keys(principal, asked.kind, asked.sha256)):
        with services.db.read() as connection:
            known = repository.find(connection, principal, asked.kind, asked.sha256)
    if any(found.forsaken for found in known.values()):
        with services.db.write() as connection:
            repository.count_on(connection, principal, asked.kind, known)
            known = repository.find(connection, principal, asked.kind, asked.sha256)
    return UploadsMissing(missing=[name for name in dict.fromkeys(asked.sha256) if name not in known])


def _keys(principal: Principal, kind: str, names: Iterable[str]) -> set[Key]:
    return {(principal.workspace_id, kind, name) for name in names}


class Intake:
    """Uploads of one request. Always `close` it. Everything here blocks: call it in a thread."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services, self._principal = services, principal
        self._receiver: Receiver | None = None
        self._claim: Claim | None = None
        self._taken = 0
        self._packer = Packer(services.blobs, services.scratch)
        self._items: list[tuple[Claim, Judged | int]] = []
        self._looked_up: dict[tuple[str, str], Found | None] = {}
        self._over = False

    def foresee(self, items: Iterable[Item]) -> None:
        """Look up in one go what several uploads that are about to begin will ask for."""
        by_kind: dict[str, list[str]] = {}
        for item in items:
            by_kind.setdefault(item.kind, []).append(item.sha256)
        self._looked_up = {}
        for kind, names in by_kind.items():
            with self._services.db.read() as connection:
                found = repository.find(connection, self._principal, kind, names)
            self._looked_up |= {(kind, name): found.get(name) for name in names}

    def begin(self, claim: Claim) -> None:
        """An upload starts. One that the workspace has already is read past."""
        self._claim, self._taken = claim, 0
        found = self._find(claim)
        if found is not None:
            self._items.append((claim, found.size))
        else:
            self._receiver = Receiver(claim, self._services.limits, self._services.scratch)

    def data(self, chunk: bytes) -> None:
        """Bytes of the current upload, as sent."""
        self._taken += len(chunk)
        if self._claim is not None and self._taken > limit_of(self._claim.kind, self._services.limits):
            raise DomainError(Code.TOO_LARGE, f"{self._claim.label} is larger than this server takes")
        if self._receiver is not None:
            self._receiver.feed(chunk)

    def end(self) -> None:
        """The current upload is complete: judge and pack it."""
        if self._receiver is None or self._claim is None:
            return
        with _ONE_LARGE if self._receiver.weight() > _LARGE else nullcontext():
            judged = self._receiver.finish(self._packer)
        self._receiver.close()
        self._receiver = None
        self._items.append((self._claim, judged))

    def finish(self) -> list[Uploaded]:
        """Make the blobs durable, then write the rows of all uploads in one transaction; the answer to the request, in order."""
        self._over = True
        with _ENDING.of({(self._principal.workspace_id, item.kind, item.sha256) for _, item in self._items if isinstance(item, Judged)}):
            return self._finish()

    def keep(self) -> None:
        """The body broke off, or something in it was refused: what was whole before stays, so that it need not be sent again."""
        if self._receiver is not None:
            self._receiver.close()
            self._receiver = None
        if self._over or not any(isinstance(item, Judged) for _, item in self._items):
            return
        # The request has failed already, and says why; this is a kindness that may fail too.
        with suppress(OSError, DomainError, DatabaseError):
            self.finish()

    def _finish(self) -> list[Uploaded]:
        self._packer.close()
        now = self._services.clock()
        kept = [self._kept(item) for _, item in self._items if isinstance(item, Judged)]
        created: set[tuple[str, str]] = set()
        if kept:
            with self._services.db.write() as connection:
                repository.hold_blobs(connection)
                created = repository.add(connection, self._principal, kept, now=now)
                self._check_blobs(kept)
        return [self._answer(claim, item, created) for claim, item in self._items]

    def close(self) -> None:
        """Forget an upload that did not end."""
        if self._receiver is not None:
            self._receiver.close()
        self._packer.drop()

    def _find(self, claim: Claim) -> Found | None:
        kind, name = claim.kind, claim.sha256
        if (kind, name) in self._looked_up:
            found = self._looked_up[kind, name]
        else:
            with self._services.db.read() as connection:
                found = repository.find(connection, self._principal, kind, [name]).get(name)
        if found is not None and found.forsaken:
            with self._services.db.write() as connection:
                repository.count_on(connection, self._principal, kind, [name])
                found = repository.find(connection, self._principal, kind, [name]).get(name)
        return found

    def _check_blobs(self, kept: list[Kept]) -> None:
        """A blob that was there already, and so was not written again, may have been given back since (`features.reclaim`)."""
        for name in {place.blob for item in kept for place in (item.stored, item.index) if place is not None}:
            if not self._services.blobs.exists(name):
                raise DomainError(Code.UNAVAILABLE, "stored bytes were given back while this came in; send it again")

    def _kept(self, item: Judged) -> Kept:
        index = None if item.index is None else self._packer.place(item.index)
        stored = self._packer.place(item.stored)
        return Kept(kind=item.kind, sha256=item.sha256, size=item.size, stored=stored, index=index, info_json=item.info_json)

    @staticmethod
    def _answer(claim: Claim, item: Judged | int, created: set[tuple[str, str]]) -> Uploaded:
        """The answer for one upload; of several with the same bytes only the first is new."""
        key = (claim.kind, claim.sha256)
        new = key in created
        created.discard(key)
        return Uploaded(sha256=claim.sha256, size=item if isinstance(item, int) else item.size, created=new)


class BundleIntake:
    """The body of a bundle, fed in pieces of any size."""

    def __init__(self, intake: Intake, *, max_items: int) -> None:
        self._intake = intake
        self._parser = Parser(max_items=max_items)

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises `DomainError` (413, 422) naming the item at fault; those before it are taken."""
        events: list[Event] = []
        bad: BadBundle | None = None
        try:
            events += self._parser.feed(data)
        except BadBundle as error:
            bad = error
        self._intake.foresee(event.item for event in events if isinstance(event, Begin))
        for event in events:
            self._take(event)
        if bad is not None:
            raise unprocessable(str(bad)) from bad

    def _take(self, event: Event) -> None:
        if isinstance(event, Begin):
            item = event.item
            label = f"item {event.number} of the bundle ({item.kind} {item.sha256})"
            self._intake.begin(Claim(kind=item.kind, sha256=item.sha256, size=item.size, encoding=item.encoding, label=label))
        elif isinstance(event, Data):
            self._intake.data(event.chunk)
        else:
            self._intake.end()

    def finish(self) -> list[Uploaded]:
        """The answer, once the body has ended. Raises `DomainError` (422) when it ended inside an item."""
        try:
            self._parser.finish()
        except BadBundle as error:
            raise unprocessable(str(error)) from error
        return self._intake.finish()


class SingleIntake:
    """The body of one upload, fed in pieces of any size."""

    def __init__(self, intake: Intake, claim: Claim) -> None:
        self._intake = intake
        intake.begin(claim)

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises `DomainError` (413, 422)."""
        self._intake.data(data)

    def finish(self) -> list[Uploaded]:
        """The answer, once the body has ended."""
        self._intake.end()
        return self._intake.finish()


def claim_of(services: Services, kind: str, sha256: str, *, encoding: str | None, length: int | None) -> Claim:
    """What a single upload announces. Raises `DomainError`: 404 for an unknown kind, 400, 413, or 422 for a coding that is not taken."""
    if kind not in _KINDS:
        raise not_found("upload kind", kind)
    if not SHA256.match(sha256):
        raise bad_request(f"{sha256!r} is not a SHA-256 in hex")
    if encoding not in {None, "", "identity", "zstd"} or (encoding == "zstd" and kind != "trajectory"):
        raise unprocessable(f"content coding {encoding!r} is not taken for kind {kind!r}; only a trajectory may be sent as `zstd`")
    limit = limit_of(kind, services.limits)
    if length is not None and length > limit:
        raise DomainError(Code.TOO_LARGE, f"{kind} {sha256} has {length} bytes; this server takes at most {limit}")
    coding = encoding if encoding == "zstd" else None
    return Claim(kind=kind, sha256=sha256, size=None if coding else length, encoding=coding, label=f"{kind} {sha256}")
