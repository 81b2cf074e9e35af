"""ZIP entries from bulk streams: deflated by several threads, and gone on with behind the last one where an earlier try stopped."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from benchloop_client.actions import bulk_texts, task_media
from benchloop_client.actions.bulk import Bulk, Mark, Origin
from benchloop_client.actions.bulk_texts import Feed, Piece, plain, plain_pieces
from benchloop_client.actions.indenter import Indenter
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.work import Counted, Work
from benchloop_client.contract.bulk import BulkItem
from benchloop_client.errors import BenchloopError, LocalError
from benchloop_client.transfer import zipping
from benchloop_client.transfer.bundle import Item
from benchloop_client.transfer.resume import Part
from benchloop_client.transfer.stages import ahead, spread
from benchloop_client.transfer.zipping import DEFLATED, STORED, Entry

#: A longer document (plain bytes) goes through in pieces.
LARGE = bulk_texts.LARGE
_MOST_THREADS = 8
#: Shorter ones go through together, so many plain bytes or so many documents at a time: handing over costs more than a small entry itself.
_BATCH, _TOGETHER = 1 << 18, 128
#: So many jobs with media are remembered in a checkpoint; where there are more, a run that is taken up looks at all entries again.
_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class Section:
    """Entries made of one stream: their names by job id, how text is laid out, and at which level it is deflated."""

    origin: Origin
    name: Callable[[str], str]
    layout: Layout
    level: int
    only: Callable[[str], bool] | None = None


@dataclass(slots=True)
class Filled:
    """What came: `jobs` in all, those that are `gone`, and the entries of those whose text names media, None if that is not known."""

    jobs: int = 0
    gone: list[str] = field(default_factory=list)
    media: list[tuple[str, int]] | None = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Whole:
    """One item with its bytes."""

    header: BulkItem
    data: bytes
    mark: Mark


@dataclass(frozen=True, slots=True)
class _Done:
    """An entry that is ready to be written; none for an item without anything."""

    header: BulkItem
    mark: Mark
    entry: Entry | None
    packed: bytes
    media: bool


_Raw: TypeAlias = "tuple[_Whole, ...] | Piece"


def fill(work: Work, section: Section, part: Part, *, count: Counted | None = None) -> Filled:
    """Append the entries of the stream to the part, from where it stops. Raises as streams do."""
    with Bulk(work, section.origin, part) as stream:
        filler = _Filler(section, part, count)
        source = spread(ahead(_raw(stream.items(wanted=section.only))), filler.packed, threads=_threads())
        for one in source:
            filler.check(filler.large(one, source) if isinstance(one, Piece) else filler.write(one))
        filler.end()
    return filler.filled


def media_of(part: Part, filled: Filled, jobs: Iterable[str], name: Callable[[str], str]) -> list[tuple[str, int]]:
    """(job id, place of its entry) of each job whose text names media; looks at all entries where that is not known."""
    if filled.media is not None:
        return filled.media
    by_name = {name(job_id): job_id for job_id in jobs}
    with open(part.path, "rb", buffering=0) as file:
        return [
            (by_name[entry.name], entry.offset)
            for entry in zipping.entries(file, part.size)
            if entry.name in by_name and task_media.MARK in zipping.content(file, entry)
        ]


def content_at(part: Part, offset: int) -> bytes:
    """What the entry at that place of the part holds."""
    with open(part.path, "rb", buffering=0) as file:
        return zipping.content(file, zipping.entry_at(file, offset))


def append(part: Part, name: str, chunks: Iterable[bytes], level: int) -> None:
    """Append an entry of any length."""
    _Open(part, name, level).fill(chunks)


def append_part(part: Part, other: Part) -> None:
    """Append all entries of another part."""
    for chunk in other.read():
        part.write(chunk)


def close(part: Part) -> None:
    """Append the directory: the part is a whole ZIP then."""
    end = part.size
    with open(part.path, "rb", buffering=0) as file:
        for piece in zipping.directory(file, end):
            part.write(piece)


def _threads() -> int:
    try:
        return max(1, min(_MOST_THREADS, len(os.sched_getaffinity(0))))
    except AttributeError:
        return max(1, min(_MOST_THREADS, os.cpu_count() or 1))


def _raw(items: Iterable[tuple[Item, Mark]]) -> Iterator[_Raw]:
    """Small documents together, large ones in pieces. What was collected when the stream breaks off comes before the error."""
    batch: list[_Whole] = []
    size = 0
    try:
        for item, mark in items:
            whole = item.whole and item.header.size <= LARGE
            if batch and (not whole or size >= _BATCH or len(batch) >= _TOGETHER):
                yield tuple(batch)
                batch, size = [], 0
            if whole:
                batch.append(_Whole(item.header, item.read(), mark))
                size += item.header.size
            else:
                yield from bulk_texts.pieces(item, mark)
    except BenchloopError:
        if batch:
            yield tuple(batch)
        raise
    if batch:
        yield tuple(batch)


class _Filler:
    """Writes what comes and remembers what a checkpoint needs."""

    def __init__(self, section: Section, part: Part, count: Counted | None) -> None:
        self._section, self._part, self._count = section, part, count
        self._mark: Mark | None = None
        self.filled = Filled()
        if part.state.offset:
            note = part.state.note
            media = note.get("media")
            self.filled = Filled(part.state.items, list(note["gone"]), None if media is None else [(job, at) for job, at in media])
            for _ in range(self.filled.jobs):
                self._counted("", failed=False)

    def end(self) -> None:
        """All of the stream has come: that is noted at once."""
        if self._mark is not None:
            self.check(self._mark, force=True)

    def packed(self, raw: _Raw) -> tuple[_Done, ...] | Piece:
        """The entries of items; runs on several threads."""
        return raw if isinstance(raw, Piece) else tuple(map(self._packed, raw))

    def _packed(self, one: _Whole) -> _Done:
        header = one.header
        if header.gone or not header.length:
            return _Done(header, one.mark, None, b"", media=False)
        text = _text(header, one.data, self._section.layout)
        data = zipping.deflated(text, self._section.level)
        method = DEFLATED if self._section.level else STORED
        entry = Entry(self._section.name(header.job_id), method, zlib.crc32(text), len(text), len(data))
        return _Done(header, one.mark, entry, data, media=task_media.MARK in text)

    def write(self, several: tuple[_Done, ...]) -> Mark:
        """Append entries."""
        chunks: list[bytes] = []
        media: list[tuple[str, int]] = []
        offset = self._part.size
        for done in several:
            if done.entry is not None:
                if done.media:
                    media.append((done.header.job_id, offset))
                chunks += (zipping.head(done.entry), done.packed)
                offset += len(chunks[-2]) + len(chunks[-1])
        self._part.write(b"".join(chunks))
        # Only now: the last checkpoint must not know of what could not be written.
        self.filled.gone += (done.header.job_id for done in several if done.entry is None)
        if self.filled.media is not None:
            self.filled.media += media
        self.filled.jobs += len(several)
        for done in several:
            self._counted(done.header.job_id, failed=done.entry is None)
        return several[-1].mark

    def large(self, first: Piece, source: Iterator[object]) -> Mark:
        """Append an entry that is too long to be held."""
        header = first.header
        self._part.settle()
        feed = Feed(first, source)
        offset = self._part.size
        entry = _Open(self._part, self._section.name(header.job_id), self._section.level)
        looked = _Looked(_indented(plain_pieces(header, feed), self._section.layout))
        entry.fill(looked)
        if looked.found and self.filled.media is not None:
            self.filled.media.append((header.job_id, offset))
        self.filled.jobs += 1
        self._counted(header.job_id, failed=False)
        assert feed.mark is not None
        return feed.mark

    def check(self, mark: Mark, *, force: bool = False) -> None:
        """Note how far it came."""
        self._mark = mark
        filled = self.filled
        media = filled.media if filled.media is not None and len(filled.media) <= _REMEMBERED else None
        self._part.checkpoint(mark.end, items=filled.jobs, note=_Note(lines=mark.lines, gone=filled.gone, media=media), force=force)

    def _counted(self, job_id: str, *, failed: bool) -> None:
        if self._count is not None:
            self._count.ended(job_id, None, failed=failed)


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint remembers."""

    lines: str
    gone: list[str]
    media: list[tuple[str, int]] | None


class _Open:
    """An entry whose length is known when it ends: its head is filled in then."""

    def __init__(self, part: Part, name: str, level: int) -> None:
        self._part, self._name, self._level = part, name, level
        self._offset = part.size
        self._method = DEFLATED if level else STORED
        part.write(zipping.head(Entry(name, self._method, 0, 0, 0), large=True))

    def fill(self, chunks: Iterable[bytes]) -> None:
        """Write what it holds."""
        begun, crc, size = self._part.size, 0, 0
        tool = zlib.compressobj(self._level, zlib.DEFLATED, -zlib.MAX_WBITS) if self._level else None
        for chunk in chunks:
            crc, size = zlib.crc32(chunk, crc), size + len(chunk)
            self._part.write(tool.compress(chunk) if tool is not None else chunk)
        if tool is not None:
            self._part.write(tool.flush())
        entry = Entry(self._name, self._method, crc, size, self._part.size - begun)
        try:
            with open(self._part.path, "r+b", buffering=0) as file:
                file.seek(self._offset)
                file.write(zipping.head(entry, large=True))
        except OSError as error:
            raise LocalError(f"{self._part.path} cannot be written: {error.strerror}") from None


class _Looked:
    """Chunks as they are; `found` once they held the mark of media."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.found = False

    def __iter__(self) -> Iterator[bytes]:
        end = b""
        for chunk in self._chunks:
            self.found = self.found or task_media.MARK in end + chunk
            end = chunk[-len(task_media.MARK) :]
            yield chunk


def _text(header: BulkItem, data: bytes, layout: Layout) -> bytes:
    """The text of a document with a line end. Our server's documents have no escapes outside strings that would have to be undone."""
    raw = b"".join(plain(header, data))
    try:
        return msgspec.json.format(raw, indent=2 if layout.pretty else -1) + b"\n"
    except (msgspec.DecodeError, RecursionError):
        return layout.text(raw) + b"\n"


def _indented(chunks: Iterable[bytes], layout: Layout) -> Iterator[bytes]:
    indenter = Indenter(layout)
    for chunk in chunks:
        yield indenter.feed(chunk)
    yield indenter.finish() + b"\n"
