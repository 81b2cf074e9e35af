"""`<group>/trajectory.json` from one stream: written as it arrives, and gone on with where an earlier try stopped."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from benchloop_client.actions.bulk import Bulk, Mark, Origin
from benchloop_client.actions.bulk_texts import Text, texts
from benchloop_client.actions.destination import Destination, Outcome, in_group
from benchloop_client.actions.events import Counter, Noted
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.work import Work
from benchloop_client.transfer.journal import Entry
from benchloop_client.transfer.plan import Wanted
from benchloop_client.transfer.resume import Part


@dataclass(frozen=True, slots=True)
class Document:
    """A group's file: its jobs as far as their number is known, and which of them are wanted (None: all)."""

    group_id: str
    wanted: Wanted
    jobs: int
    only: Callable[[str], bool] | None = None


def save(work: Work, document: Document, destination: Destination) -> Outcome:
    """Write the file, unless it is there and has not changed. Raises as `Destination.save`."""
    wanted = document.wanted
    destination.ask_again(wanted.path)
    settled = destination.settle(wanted)
    if isinstance(settled, Outcome):
        return settled
    with destination.noting_failure(wanted):
        known = settled.etag if settled.etag and destination.survived(wanted.path) else None
        with destination.parts.open(wanted.source, wanted.path, digest=False) as part:
            return _fetched(work, document, destination, part, etag=known)


def _fetched(work: Work, document: Document, destination: Destination, part: Part, *, etag: str | None) -> Outcome:
    wanted = document.wanted
    origin = Origin("trajectories", in_group(document.group_id, "trajectory.json"), group=document.group_id)
    with Bulk(work, origin, part, etag=etag) as bulk:
        if bulk.unchanged:
            return Outcome(destination.root / wanted.path, kept=True)
        writer = _Writer(work, document, destination.layout, part)
        for text in texts(bulk.items(wanted=document.only), destination.layout):
            writer.write(text)
        writer.end()
    placed = part.finish(wanted.path)
    destination.journal.add(
        Entry(
            path=wanted.path,
            source=wanted.source,
            status="done",
            size=placed.size,
            crc32=writer.crc32,
            etag=bulk.etag,
            durable=placed.durable,
        )
    )
    return Outcome(placed.path)


class _Writer:
    """Puts the documents between the head and the end of the file, with a checkpoint now and then."""

    def __init__(self, work: Work, document: Document, layout: Layout, part: Part) -> None:
        self._work, self._document, self._layout, self._part = work, document, layout, part
        note = part.state.note if part.state.offset else {}
        self._jobs = part.state.items if part.state.offset else 0
        self._recorded, self._crc = int(note.get("recorded", 0)), int(note.get("crc32", 0))
        self._counter = Counter(work.watch, f"trajectories of {document.group_id}", "jobs", document.jobs, quiet=True)
        if self._jobs:
            self._counter.step("fetched", "", by=self._jobs)
        if not part.state.offset:
            self._put(_head(document.group_id, layout))

    @property
    def crc32(self) -> str:
        """Of all that was written, 8 hex digits."""
        return f"{self._crc:08x}"

    def write(self, text: Text) -> None:
        """Append documents; the very first needs no comma before it."""
        chunks = text.chunks
        if text.jobs and text.mark is None:
            self._part.settle()
        if not self._jobs:
            chunks = (chunks[0][1:], *chunks[1:])
        for chunk in chunks:
            self._put(chunk)
        self._jobs += text.jobs
        self._recorded += text.recorded
        if text.jobs:
            self._counter.step("fetched", "", by=text.jobs)
        if text.mark is not None:
            self._check(text.mark)

    def end(self) -> None:
        """Close the file's array and object; say how many jobs have no trajectory."""
        self._put((self._layout.line(1) if self._jobs else b"") + b"]" + self._layout.line() + b"}\n")
        without = max(self._document.jobs, self._jobs) - self._recorded
        if without > 0:
            self._work.watch(
                Noted(f"{without} of {max(self._document.jobs, self._jobs)} job(s) in {self._document.group_id} have no trajectory")
            )

    def _put(self, chunk: bytes | memoryview) -> None:
        self._crc = zlib.crc32(chunk, self._crc)
        self._part.write(chunk)

    def _check(self, mark: Mark) -> None:
        note = {"lines": mark.lines, "recorded": self._recorded, "crc32": self._crc}
        self._part.checkpoint(mark.end, items=self._jobs, note=note)


def _head(group_id: str, layout: Layout) -> bytes:
    colon = b": " if layout.pretty else b":"
    line = layout.line(1)
    return b"{" + line + b'"group_id"' + colon + layout.value(group_id) + b"," + line + b'"trajectories"' + colon + b"["
