"""A file for each item of a bulk stream. What an earlier run left is compared with the stream's index, and only the rest is fetched."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from benchloop_client.actions import bulk
from benchloop_client.actions.bulk import Index, Origin
from benchloop_client.actions.destination import Destination, Outcome
from benchloop_client.actions.events import Event, Skipped
from benchloop_client.actions.report import Failure
from benchloop_client.actions.work import Counted, Work
from benchloop_client.client import Stream
from benchloop_client.contract.bulk import BulkEntry, BulkItem
from benchloop_client.errors import BenchloopError, NetworkError
from benchloop_client.transfer.bundle import Item
from benchloop_client.transfer.folders import Folder
from benchloop_client.transfer.journal import Entry
from benchloop_client.transfer.plan import Wanted
from benchloop_client.transfer.pool import FATAL

#: Files that are entered into the journal together.
_TOGETHER = 64
#: Pieces of the stream with a gap of at most so many bytes between them are fetched as one.
_GAP = 1 << 18
#: So many separate pieces are fetched as ranges of the stream; where more are missing, item by item.
_PIECES = 32
#: How often a stream that becomes another version is begun again.
_TRIES = 3


@dataclass(frozen=True)
class Shape:
    """How items become files. `folders`: where they go below the output directory; `names`: the rest of the path, at most one folder and
    a name; `label`: what a failure is called; `tell`: the event for a file that was written; `content`: what is written, None for the
    bytes as they are; `leave_absent`: jobs that have nothing are left, to be asked for one by one.
    """

    folders: tuple[str, ...]
    names: Callable[[BulkItem], tuple[str, ...]]
    source: Callable[[BulkItem], str]
    label: Callable[[BulkItem], str]
    tell: Callable[[Path], Event]
    content: Callable[[BulkItem, bytes], bytes] | None = None
    leave_absent: bool = False

    def wanted(self, header: BulkItem) -> Wanted:
        """The file of an item. What is written as it came is known by its digest, what is laid out by that of what came."""
        path = "/".join((*self.folders, *self.names(header)))
        if self.content is None:
            return Wanted(path, self.source(header), header.size, header.sha256)
        return Wanted(path, self.source(header), etag=f'"{header.sha256}"')


@dataclass
class Fetched:
    """What became of the items: `done` have their file, `absent` had nothing, `left` have still to be fetched one by one."""

    done: int = 0
    absent: int = 0
    failures: list[Failure] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stock:
    """Which items: those of `origin`, in the shape of `shape`, of the jobs that `only` is true for (None: all)."""

    origin: Origin
    shape: Shape
    only: Callable[[str], bool] | None = None


def fetch(work: Work, stock: Stock, destination: Destination, *, count: Counted) -> Fetched:
    """Write the file of each item that is not there yet. Large ones are left. Raises what streams raise, `IntegrityError`, and what ends a
    run; what is wrong with a single file is in `failures`.
    """
    found = Fetched()
    for _ in range(_TRIES):
        try:
            with _Saver(work, stock, destination, count, found) as saver:
                if saver.begun():
                    saver.missing()
                else:
                    saver.everything()
            return found
        except _Changed:
            found.left.clear()
    raise NetworkError(f"{stock.origin.name} became another version {_TRIES} times while it was fetched")


class _Changed(Exception):
    """The stream is another version than the one that was begun."""


@dataclass
class _Span:
    """A piece of the stream that is missing: from the line of its first item to the end of its last."""

    start: int
    end: int


class _Saver:
    """One try. Notes what was written in the journal, several files at once, the last ones when it is left."""

    def __init__(self, work: Work, stock: Stock, destination: Destination, count: Counted, found: Fetched) -> None:
        self._work, self._destination, self._count = work, destination, count
        self._origin, self._shape, self._only = stock.origin, stock.shape, stock.only
        self._found = found
        self._blank = not len(destination.journal)
        self._lines = hashlib.sha256()
        self._etag: str | None = None
        self._written: list[Entry] = []
        self._folder: Folder | None = None

    def __enter__(self) -> _Saver:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._folder is not None:
            self._folder.__exit__(kind, error, trace)
        self._note()

    def begun(self) -> bool:
        """Whether an earlier run has fetched any of it, so that there is something to compare with."""
        if self._blank:
            return False
        journal, shape = self._destination.journal, self._shape
        with self._origin.index(self._work) as stream:
            meant = (entry for entry in Index(stream) if self._is_meant(entry) and not bulk.nothing(entry))
            return any(journal.get(shape.wanted(entry).path) is not None for entry in meant)

    def everything(self) -> None:
        """Fetch the whole stream."""
        at: int | None = 0
        while at is not None:
            with self._opened(at) as stream:
                source = bulk.items_of(self._work, self._origin, stream, seen=self._lines.update)
                at = next((item.end for item in source if not self._take(item)), None)
                # A large item may be the last one: there is nothing to ask for behind it.
                if at == stream.total:
                    at = None
        bulk.check_version(self._origin, self._etag, self._lines.hexdigest())

    def missing(self) -> None:
        """Compare what is there with the index, and fetch the rest: as few pieces of the stream, or left to be fetched one by one."""
        self._blank = False
        spans: list[_Span] = []
        lacking: list[str] = []
        with self._origin.index(self._work) as stream:
            index = Index(stream)
            for entry in index:
                if self._lacks(entry):
                    lacking.append(entry.job_id)
                    _extend(spans, entry)
        if len(spans) > _PIECES:
            self._found.left += lacking
            return
        self._etag = index.head.etag
        for span in spans:
            self._piece(span)

    def _piece(self, span: _Span) -> None:
        at = span.start
        while at < span.end:
            with self._opened(at) as stream:
                for item in bulk.items_of(self._work, self._origin, stream, seen=_unseen):
                    at = item.end
                    if not self._take(item, counted=True) or at >= span.end:
                        break
                else:
                    return

    def _opened(self, at: int) -> Stream:
        stream = self._origin.open(self._work, offset=at or None, etag=self._etag if at else None)
        if stream.offset != at or (self._etag is not None and stream.etag != self._etag):
            stream.close()
            raise _Changed
        self._etag = stream.etag
        return stream

    def _is_meant(self, header: BulkItem) -> bool:
        return self._only is None or self._only(header.job_id)

    def _lacks(self, entry: BulkEntry) -> bool:
        """Whether the file of an entry has to be fetched."""
        if not self._is_meant(entry):
            return False
        if bulk.nothing(entry):
            self._absent(entry)
            return False
        wanted = self._shape.wanted(entry)
        try:
            settled = self._destination.settle(wanted)
        except FATAL:
            raise
        except BenchloopError as error:
            self._failed(entry, wanted, error)
            return False
        if not isinstance(settled, Outcome):
            return True
        self._work.watch(Skipped(settled.path))
        self._ended(entry)
        return False

    def _take(self, item: Item, *, counted: bool = False) -> bool:
        """Deal with an item of the stream; false if it is too large to be held, and left. `counted`: those that need nothing were counted
        before.
        """
        header = item.header
        if not self._is_meant(header):
            return True
        if bulk.nothing(header):
            if not counted:
                self._absent(header)
            return True
        if not item.whole:
            self._found.left.append(header.job_id)
            return False
        wanted = self._shape.wanted(header)
        data = item.read()
        try:
            path = self._placed(wanted, header, data)
        except FATAL:
            raise
        except BenchloopError as error:
            self._failed(header, wanted, error)
            return True
        if path is not None:
            self._work.watch(self._shape.tell(path))
            self._ended(header)
        elif not counted:
            self._work.watch(Skipped(self._destination.root / wanted.path))
            self._ended(header)
        return True

    def _placed(self, wanted: Wanted, header: BulkItem, data: bytes) -> Path | None:
        """Write the file; None if it is there already."""
        settled = self._destination.claimed(wanted) if self._blank else self._destination.settle(wanted)
        if isinstance(settled, Outcome):
            return None
        content = self._shape.content
        if self._folder is None:
            self._folder = self._destination.folder(*self._shape.folders)
        if content is None:
            placed = self._folder.put(self._shape.names(header), data, sha256=header.sha256)
        else:
            placed = self._folder.put(self._shape.names(header), content(header, data))
        self._written.append(
            Entry(
                path=wanted.path,
                source=wanted.source,
                status="done",
                size=placed.size,
                sha256=placed.sha256,
                etag=wanted.etag,
                durable=placed.durable,
            )
        )
        if len(self._written) >= _TOGETHER:
            self._note()
        return placed.path

    def _note(self) -> None:
        written, self._written = self._written, []
        if written:
            self._destination.journal.add_all(written)

    def _ended(self, header: BulkItem) -> None:
        self._found.done += 1
        self._count.ended(header.job_id, None, failed=False)

    def _absent(self, header: BulkItem) -> None:
        if self._shape.leave_absent:
            self._found.left.append(header.job_id)
            return
        self._found.absent += 1
        self._count.ended(header.job_id, None, failed=False)

    def _failed(self, header: BulkItem, wanted: Wanted, error: BenchloopError) -> None:
        self._written.append(Entry(path=wanted.path, source=wanted.source, status="failed", error=str(error)))
        self._found.failures.append(Failure(self._shape.label(header), error))
        self._count.ended(header.job_id, None, failed=True)


def _unseen(_line: bytes) -> None:
    """Lines of a piece have no digest of their own: the index's were checked."""


def _extend(spans: list[_Span], entry: BulkEntry) -> None:
    start, end = entry.offset - len(bulk.line_of(entry)), entry.offset + entry.length
    if spans and start - spans[-1].end <= _GAP:
        spans[-1].end = end
    else:
        spans.append(_Span(start, end))
