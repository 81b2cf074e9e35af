"""Bulk streams as actions use them: opened where an earlier try stopped, split into verified items, the whole checked at its end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from types import TracebackType
from typing import TypeVar

import msgspec

from benchloop_client.actions.events import Moved
from benchloop_client.actions.lines import lines
from benchloop_client.actions.work import Work
from benchloop_client.client import Stream
from benchloop_client.contract.bulk import BulkEntry, BulkHead, BulkItem, BulkKind
from benchloop_client.contract.ids import file_name
from benchloop_client.errors import IntegrityError, RangeRefused
from benchloop_client.transfer.bundle import Item, items
from benchloop_client.transfer.resume import Part
from benchloop_client.transfer.tails import Tail

T = TypeVar("T")

FEATURE = "bulk"
_TAG = '"bulk-'
_ITEM: dict[BulkKind, str] = {"trajectories": "trajectory", "metadata": "metadata", "artifacts": "artifact"}


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose items, those of a group or of a download task; `name` is what the stream is called where progress is shown."""

    kind: BulkKind
    name: str
    group: str | None = None
    task: str | None = None

    def open(self, work: Work, *, offset: int | None = None, etag: str | None = None) -> Stream:
        """The stream; with `offset` the rest of version `etag`, or all of another; else 304 if it still has `etag`."""
        if self.task is not None:
            return work.client.task_bulk_stream(self.task, self.kind, offset=offset, etag=etag)
        assert self.group is not None
        return work.client.group_bulk_stream(self.group, self.kind, offset=offset, etag=etag)

    def index(self, work: Work) -> Stream:
        """The lines of all items."""
        if self.task is not None:
            return work.client.task_bulk_index_stream(self.task, self.kind)
        assert self.group is not None
        return work.client.group_bulk_index_stream(self.group, self.kind)


def offered(work: Work) -> bool:
    """Whether the server has bulk streams."""
    return work.client.has(FEATURE)


def nothing(header: BulkItem) -> bool:
    """Whether the item stands for something that was not recorded, or for a job that is gone."""
    return header.absent or header.gone


@dataclass(frozen=True, slots=True)
class Mark:
    """A place between two items: `end` in bytes of the stream, `lines` the SHA-256 (hex) of all lines before it."""

    end: int
    lines: str


class Bulk:
    """An open stream that goes on where `part` stopped, with the part emptied if that is not possible. A context manager.

    The lines in front of the items are the version of the stream: their digest is checked against the ETag at the end. Each checkpoint has
    it as `lines` in its note, so that items that were dealt with by an earlier try are covered too.
    """

    def __init__(self, work: Work, origin: Origin, part: Part, *, etag: str | None = None) -> None:
        """`etag`: the version that is there already; `unchanged` is true then if it is still the current one."""
        self._work, self._origin = work, origin
        self._lines = hashlib.sha256()
        #: Nothing comes: an earlier try had everything.
        self.complete = False
        self._tail = Tail(part)
        self._stream = self._opened(part, etag)
        self._tail.version = self._stream.etag
        self.etag = part.state.etag if self.complete else self._stream.etag

    def __enter__(self) -> Bulk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()
        if error is None or isinstance(error, IntegrityError):
            self._tail.drop()
        else:
            self._tail.keep()

    @property
    def unchanged(self) -> bool:
        """Nothing comes: the version named by `etag` is the current one."""
        return self._stream.unchanged and not self.complete

    @property
    def resumed(self) -> bool:
        """Whether it goes on behind items that were dealt with earlier."""
        return self._stream.offset > self._tail.have

    def items(self, *, wanted: Callable[[str], bool] | None = None) -> Iterator[tuple[Item, Mark]]:
        """Each item, those of jobs that are not wanted left out, with the mark behind it. Raises `IntegrityError` for items that are
        damaged or of another kind, and at the end if the whole is not the version that was announced.
        """
        come = items_of(self._work, self._origin, self._stream, seen=self._lines.update, tail=self._tail)
        for item in () if self.complete else come:
            if wanted is None or wanted(item.header.job_id):
                yield item, Mark(item.end, self._lines.hexdigest())
        check_version(self._origin, self.etag, self._lines.hexdigest())

    def _opened(self, part: Part, etag: str | None) -> Stream:
        state, tail = part.state, self._tail
        tail.take_up(state.offset, state.etag if state.offset else None)
        if self._covered(part) if state.offset else tail.have:
            stream = self._gone_on(part)
            if self.complete or _fits(stream, state.offset + tail.have, state.etag or tail.etag):
                if not state.offset:
                    part.begin(etag=stream.etag, total=stream.total)
                return stream
            self._lines = hashlib.sha256()
            if stream.offset:
                stream.close()
                stream = self._origin.open(self._work)
        else:
            stream = self._origin.open(self._work, etag=etag)
        tail.drop()
        if not stream.unchanged:
            part.begin(etag=stream.etag, total=stream.length)
        return stream

    def _gone_on(self, part: Part) -> Stream:
        """The rest; where everything had arrived, only the question whether it is still the current version."""
        state = part.state
        if state.offset != state.total:
            try:
                return self._origin.open(self._work, offset=state.offset + self._tail.have, etag=state.etag or self._tail.etag)
            except RangeRefused as refusal:
                # Its length had been announced wrongly: everything had come.
                if refusal.total != state.offset:
                    return self._origin.open(self._work)
        stream = self._origin.open(self._work, etag=state.etag)
        self.complete = stream.unchanged
        return stream

    def _covered(self, part: Part) -> bool:
        """Whether the lines of the items that were dealt with are the true ones; then their digest is taken up."""
        state = part.state
        noted = state.note.get("lines") if isinstance(state.note, dict) else None
        try:
            with self._origin.index(self._work) as stream:
                for line in index_lines(stream, state.etag, up_to=state.offset):
                    self._lines.update(line)
        except IntegrityError:
            self._lines = hashlib.sha256()
            return False
        if noted == self._lines.hexdigest():
            return True
        self._lines = hashlib.sha256()
        return False


def _fits(stream: Stream, offset: int, etag: str) -> bool:
    """Whether exactly the rest came."""
    return offset > 0 and stream.offset == offset and stream.etag == etag


def items_of(work: Work, origin: Origin, stream: Stream, *, seen: Callable[[bytes], object], tail: Tail | None = None) -> Iterator[Item]:
    """The items of an open stream; `seen` is given each line. `tail`: holds what comes before the first byte of the stream, and keeps long
    items meanwhile. Raises `IntegrityError` for damaged items and those of another kind.
    """
    kind, chunks, start = _ITEM[origin.kind], _told(work, stream, origin.name), stream.offset
    if tail is not None and tail.have:
        chunks, start = chain(tail.read(), chunks), start - tail.have
    for item in items(chunks, start=start, seen=seen, keeper=tail):
        header = item.header
        if header.kind != kind:
            raise IntegrityError(f"the {header.kind} of {header.job_id} came among {origin.kind}")
        if header.name is not None and header.name != file_name(f"{header.job_id}.tgz"):
            raise IntegrityError(f"the {header.kind} of {header.job_id} came under the name {header.name}")
        yield item


def check_version(origin: Origin, etag: str | None, lines_digest: str) -> None:
    """Raise `IntegrityError` if the lines of a whole stream are not those of its ETag, where that is made of them."""
    if etag is not None and etag.startswith(_TAG) and etag != version(lines_digest):
        raise IntegrityError(f"{origin.name}: the lines of the stream are not those of its version")


def _told(work: Work, stream: Stream, name: str) -> Iterable[bytes]:
    """The bytes of the stream, whoever watches being told of each piece."""
    total = None if stream.wire_length is None else stream.offset + stream.wire_length
    try:
        for chunk in stream:
            work.watch(Moved(name, stream.offset + stream.received, total))
            yield chunk
    finally:
        done = stream.offset + stream.received
        work.watch(Moved(name, done, done))


def version(lines_digest: str) -> str:
    """The ETag of a body, by the SHA-256 (hex) of its lines."""
    return f'{_TAG}{lines_digest[:40]}"'


def index_lines(chunks: Iterable[bytes], etag: str, *, up_to: int) -> Iterator[bytes]:
    """The lines of the items before byte `up_to` of the body of version `etag`, as they stand there. Raises `IntegrityError` for the index
    of another version, and for a place that is not the end of an item.
    """
    end = 0
    index = Index(chunks)
    if index.head.etag != etag:
        raise IntegrityError("the index is that of another version")
    for entry in index:
        if end >= up_to:
            break
        end = entry.offset + entry.length
        yield line_of(entry)
    if end != up_to:
        raise IntegrityError("the index has no item that ends there")


class Index:
    """The index of a stream: its head, and by iteration each entry. Raises `IntegrityError` for lines that are none."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._source = lines(chunks)
        self.head = _decoded(next(self._source, b""), BulkHead)

    def __iter__(self) -> Iterator[BulkEntry]:
        for raw in self._source:
            yield _decoded(raw, BulkEntry)


def line_of(entry: BulkEntry) -> bytes:
    """The line of the entry as it stands in the stream."""
    return msgspec.json.encode(BulkItem(**{name: getattr(entry, name) for name in BulkItem.__struct_fields__})) + b"\n"


def _decoded(raw: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise IntegrityError("the index has a line that is none") from None
