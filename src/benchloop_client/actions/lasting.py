"""Bodies that are worth a part that lasts: fetched into it, gone on with after a break, over several connections where that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Protocol

from benchloop_client.client import Span
from benchloop_client.errors import IntegrityError, NetworkError, RangeRefused
from benchloop_client.transfer import files
from benchloop_client.transfer.files import Expect, Placed
from benchloop_client.transfer.plan import Wanted
from benchloop_client.transfer.ranges import LARGE, Filling, Hole, OpenRange, Pieces, holes_of
from benchloop_client.transfer.resume import WORTH_KEEPING, Part, Parts

_HEX = 64


class Body(Protocol):
    """An answer with the bytes of one file, as `client.Stream` is: where it begins, how long the whole is, which version it is of."""

    status: int
    offset: int
    total: int | None

    @property
    def etag(self) -> str | None: ...

    @property
    def resumable(self) -> bool: ...

    @property
    def coding(self) -> str: ...

    def blocks(self) -> Iterator[bytes | memoryview]: ...

    def wire(self) -> Iterator[bytes]: ...

    def close(self) -> None: ...


#: Opens a body: all of it, or the span. A server may answer a span with all of it.
OpenBody = Callable[["Span | None"], Body]
#: Passes pieces on and watches them; they begin at byte `start` of `total` (None: unknown).
Checked = Callable[[Iterable["bytes | memoryview"], int, "int | None"], Iterator["bytes | memoryview"]]


@dataclass(frozen=True)
class Lasting:
    """How a file is fetched into a part: `open` gives its bodies, `checked` passes the bytes on and refuses what they must not be, `made`
    turns what is on the wire into the file where the two differ; `spare` says how many more connections may be used.
    """

    open: OpenBody
    expect: Expect = field(default_factory=Expect)
    checked: Checked = lambda pieces, _start, _total: iter(pieces)
    made: Callable[[Iterator[bytes]], Iterable[bytes]] | None = None
    spare: Callable[[], int] = lambda: 0
    #: The version is the SHA-256 of the file.
    sealed: bool = False


def sha256_of(etag: str | None) -> str | None:
    """The SHA-256 that a version states, None for any other version."""
    text = (etag or "").strip('"')
    return text if len(text) == _HEX and not set(text) - set("0123456789abcdef") else None


def worth(body: Body, *, coded: bool = False) -> bool:
    """Whether a break in this body should not cost what had arrived. `coded`: also if it is compressed on the way."""
    large = body.total is not None and body.total >= WORTH_KEEPING
    return body.resumable and body.status == 200 and large and (coded or not body.coding)


def fetch(parts: Parts, wanted: Wanted, how: Lasting, body: Body | None) -> tuple[Placed, str | None]:
    """Put the file in its place; returns its version too. `body`: all of it, just opened; None to go on with a part that is there.

    What was fetched in several tries and turns out to be wrong as a whole is fetched once more from the beginning.
    """
    with parts.open(wanted.source, wanted.path) as part:
        resumed = body is None and part.state.offset > 0
        try:
            return _fetched(part, wanted, how, body)
        except IntegrityError:
            if not resumed:
                raise
    with parts.open(wanted.source, wanted.path) as part:
        return _fetched(part, wanted, how, how.open(None))


def _fetched(part: Part, wanted: Wanted, how: Lasting, body: Body | None) -> tuple[Placed, str | None]:
    holes: list[Hole] = []
    if body is None:
        body, holes = _rest(part, how)
    elif part.state.offset:
        part.begin(etag=None)
    if body is not None:
        try:
            _filled(part, how, body, holes)
        finally:
            body.close()
    etag = part.state.etag or (body.etag if body is not None else None)
    if how.made is None:
        whole = how.expect.size if how.expect.size is not None else part.state.total
        stated = how.expect.sha256 or (sha256_of(etag) if how.sealed else None)
        return part.finish(wanted.path, expect=Expect(whole, stated)), etag
    placed = files.place(Path(wanted.path), how.made(part.read()), root=part.root, expect=how.expect, fsync=part.fsync)
    part.abandon()
    return placed, etag


def _rest(part: Part, how: Lasting) -> tuple[Body | None, list[Hole]]:
    """The body that goes on where the part stops, with what is missing; a whole body, if the server has no such rest; None if nothing is
    missing. A server that refuses or fails leaves the part as it is.
    """
    total = part.state.total
    holes = holes_of(part, total if total is not None else 1 << 62)
    if not holes and not part.state.offset:
        return how.open(None), []
    start = holes[0].start if holes else part.state.offset
    try:
        body = how.open(Span(start, part.state.etag))
    except RangeRefused as refusal:
        if not holes or refusal.total == part.state.offset == part.size:
            return None, []
        return how.open(None), []
    same = body.status == 206 and 0 <= body.offset <= start and body.etag == part.state.etag
    if same and (total is None or body.total in {None, total}):
        return body, holes
    if body.status == 206:
        body.close()
        body = how.open(None)
    return body, []


def _filled(part: Part, how: Lasting, body: Body, holes: list[Hole]) -> None:
    """Write a body into the part: behind what is there, or (no `holes`) from the beginning."""
    if not holes:
        part.begin(etag=body.etag if body.resumable else None, total=body.total)
        holes = holes_of(part, body.total if body.total is not None else 1 << 62)
    start = holes[0].start if holes else 0
    pieces: Pieces = how.checked(_from(start - body.offset, body.wire() if how.made else body.blocks()), start, body.total)
    if part.can_have_holes and part.state.etag and body.total is not None and body.total >= LARGE:
        part.reserve(body.total)
        Filling(part, body.total, holes, _opener(part, how), spare=how.spare).run(pieces)
    else:
        _in_order(part, pieces)


def _in_order(part: Part, pieces: Pieces) -> None:
    for piece in pieces:
        part.write(piece)
        part.checkpoint(part.size)


def _opener(part: Part, how: Lasting) -> OpenRange:
    @contextmanager
    def opened(start: int, end: int) -> Iterator[Pieces]:
        body = how.open(Span(start, part.state.etag, end))
        try:
            if body.status != 206 or body.offset != start or body.etag != part.state.etag:
                raise NetworkError("the file changed while it was fetched", broken_body=True)
            yield body.wire() if how.made else body.blocks()
        finally:
            body.close()

    return opened


def _from(skip: int, pieces: Pieces) -> Iterator[bytes | memoryview]:
    """`pieces` without the first `skip` bytes: a server may begin earlier than it was asked to."""
    rest = iter(pieces)
    while skip > 0:
        piece = next(rest, b"")
        if not piece:
            return
        if len(piece) > skip:
            rest = chain([memoryview(piece)[skip:]], rest)
        skip -= min(skip, len(piece))
    yield from rest
