"""Where files go: one output root with its journal; each file is fetched, asked after or kept, and put in its place whole."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType

from benchloop_client.actions.lasting import Body, Lasting, fetch
from benchloop_client.actions.layout import Layout
from benchloop_client.contract.ids import file_name
from benchloop_client.errors import BenchloopError, Cancelled, LocalError, NotFound
from benchloop_client.transfer import files
from benchloop_client.transfer.files import Expect, Placed
from benchloop_client.transfer.folders import Folder
from benchloop_client.transfer.journal import Entry, Journal, Status
from benchloop_client.transfer.leftovers import Mark, sweep
from benchloop_client.transfer.plan import Claims, Decision, OnDisk, Wanted, decide
from benchloop_client.transfer.resume import Parts


@dataclass(frozen=True)
class Content:
    """What a file gets: its bytes as they arrive, what they must be, and their version. `close` is called at the end, whatever happens."""

    chunks: Iterable[bytes]
    expect: Expect = field(default_factory=Expect)
    etag: str | None = None
    status: Status = "done"
    unchanged: bool = False
    close: Callable[[], None] = lambda: None
    #: Instead of `chunks`: all of a body that is worth a part that lasts.
    body: Body | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file: it was `kept`, or written anew with `status` done or placeholder."""

    path: Path
    kept: bool = False
    status: Status = "done"


#: Opens the content of a file; an ETag asks for it only if it has changed since.
Open = Callable[["str | None"], Content]


class Destination:
    """The output directory of one run. Safe between threads. `run` names what is done, so that an interrupted run is taken up again; `host`
    is the server it asks.
    """

    #: Whether files are only planned; then nothing needs to be fetched before `save`.
    rehearsing = False

    def __init__(
        self, root: Path, *, layout: Layout, run: str = "", skip_existing: bool = False, fsync: bool = False, host: str = ""
    ) -> None:
        self.root = root
        self.layout = layout
        self._run, self._host = run, host
        self._skip_existing = skip_existing
        self._fsync = fsync
        self._claims = Claims()
        self._lock = threading.Lock()
        self._journal: Journal | None = None
        self._mark: Mark | None = None
        self._resumed = False
        self._asked_again: set[str] = set()
        self._under_way = 0

    def __enter__(self) -> Destination:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._journal is not None:
            self._journal.close()
        if self._mark is not None:
            self._mark.remove()

    @property
    def journal(self) -> Journal:
        """Opened, with its folder, when the first file is due."""
        return self._opened()

    @cached_property
    def parts(self) -> Parts:
        """What broken downloads left."""
        return Parts(self.root, fsync=self._fsync)

    def _opened(self) -> Journal:
        with self._lock:
            if self._journal is None:
                self._journal = self._open_journal()
                if not self.rehearsing:
                    sweep(self.root, self._journal)
                    self._mark = Mark(self.root)
                self._resumed = bool(self._run) and self._journal.begin(self._run, host=self._host)
            return self._journal

    def _open_journal(self) -> Journal:
        return Journal(self.root)

    @property
    def resumed(self) -> bool:
        """Whether an earlier run of this name broke off."""
        self._opened()
        return self._resumed

    def finish(self) -> None:
        """Note that the run came to its end: the next one of this name asks after every file again."""
        if self._run and self._journal is not None:
            self._journal.finish(self._run)

    def save(self, path: str, source: str, open_content: Open, *, expect: Expect | None = None, lasting: Lasting | None = None) -> Outcome:
        """Put a file at `path` (relative, `/` between names that are safe). `source` names where its bytes come from; `lasting` how it is
        fetched where the content is a body, or where an earlier try left a part.

        Raises what the content raises, `IntegrityError`, `LocalError` and `DiskFull`; the failure is in the journal then.
        """
        expect = expect or Expect()
        wanted = Wanted(path, source, expect.size, expect.sha256)
        settled = self.settle(wanted)
        if isinstance(settled, Outcome):
            return settled
        with self.noting_failure(wanted):
            return self._counted(wanted, settled, open_content, lasting)

    def folder(self, *names: str) -> Folder:
        """A folder in the root that many small files go into."""
        self._writes("/".join((*names, "")))
        return Folder(self.root, *names, fsync=self._fsync)

    def claimed(self, wanted: Wanted) -> Decision:
        """Take the path for this file, without a look at what is there: it will be fetched. Raises `LocalError` if another file has it."""
        decision = self._claims.claim(wanted)
        if decision is not None:
            raise LocalError(f"{wanted.path} cannot be written: {decision.reason}")
        return Decision("fetch", "")

    def settle(self, wanted: Wanted) -> Outcome | Decision:
        """What is there already and is kept, else how to fetch it. Raises `LocalError` for what cannot be written."""
        self.claimed(wanted)
        decision = self.decision(wanted)
        if decision.action == "conflict":
            raise LocalError(f"{wanted.path} cannot be written: {decision.reason}")
        if decision.action == "keep" or (decision.action == "rehash" and self.holds(wanted.path)):
            return Outcome(self.root / wanted.path, kept=True)
        return decision

    @contextmanager
    def noting_failure(self, wanted: Wanted) -> Iterator[None]:
        """Write a failure inside the block into the journal."""
        try:
            yield
        except Cancelled:
            raise
        except BenchloopError as error:
            self.journal.add(Entry(path=wanted.path, source=wanted.source, status="failed", error=str(error)))
            raise

    def announce(self, path: str, size: int | None) -> None:
        """Take note of how many bytes the server has for `path`; of interest to a rehearsal only."""

    def save_json(self, path: str, source: str, chunks: Callable[[], Iterable[bytes]]) -> Outcome:
        """Put JSON text and a line end at `path`."""

        def text() -> Iterator[bytes]:
            yield from chunks()
            yield b"\n"

        return self.save(path, self.laid_out(source), lambda _etag: Content(text()))

    def kept(self, path: str, source: str) -> Outcome | None:
        """What is there already and need not be made again, before anything is asked for."""
        wanted = Wanted(path, source)
        decision = self.decision(wanted)
        if decision.action == "keep" or (decision.action == "rehash" and self.holds(path)):
            return Outcome(self.root / path, kept=True)
        return None

    def laid_out(self, source: str) -> str:
        """The source of a JSON file: the same data in another layout is another file."""
        return source if self.layout.pretty else f"{source} compact"

    def ask_again(self, path: str) -> None:
        """Ask after the file at `path` also where an unfinished run has written it: it is made of many jobs, and some may have changed."""
        self._asked_again.add(path)

    def decision(self, wanted: Wanted) -> Decision:
        """Whether a file is fetched or kept, by the journal and what is on the disk."""
        trusted = wanted.path not in self._asked_again and self.journal.trusted(wanted.path)
        return decide(wanted, self.journal.get(wanted.path), self._on_disk(wanted.path), skip_existing=self._skip_existing, resumed=trusted)

    def spare(self, width: int) -> int:
        """How many more connections one of the files under way may use, where `width` are allowed."""
        return max(0, width // max(1, self._under_way) - 1)

    def _writes(self, path: str) -> None:
        self._opened()
        if self._mark is not None:
            self._mark.writes(path)

    def _counted(self, wanted: Wanted, decision: Decision, open_content: Open, lasting: Lasting | None) -> Outcome:
        self._writes(wanted.path)
        with self._lock:
            self._under_way += 1
        try:
            if lasting is not None and self.parts.peek(wanted.source, wanted.path) is not None:
                return self._taken_up(wanted, decision, open_content, lasting)
            return self._fetch(wanted, decision, open_content, lasting)
        finally:
            with self._lock:
                self._under_way -= 1

    def _taken_up(self, wanted: Wanted, decision: Decision, open_content: Open, lasting: Lasting) -> Outcome:
        """Go on with a part; where what it is of is gone, the answer to that is what counts."""
        try:
            return self._written(wanted, "done", *fetch(self.parts, wanted, lasting, None))
        except NotFound:
            with self.parts.open(wanted.source, wanted.path) as part:
                part.abandon()
            return self._fetch(wanted, decision, open_content, lasting)

    def _fetch(self, wanted: Wanted, decision: Decision, open_content: Open, lasting: Lasting | None = None) -> Outcome:
        content = open_content(decision.etag)
        try:
            if content.unchanged and not self.survived(wanted.path):
                content.close()
                content = open_content(None)
            if content.unchanged:
                return Outcome(self.root / wanted.path, kept=True)
            if content.body is not None and lasting is not None:
                return self._written(wanted, content.status, *fetch(self.parts, wanted, lasting, content.body))
            placed = files.place(Path(wanted.path), content.chunks, root=self.root, expect=content.expect, fsync=self._fsync)
        finally:
            content.close()
        return self._written(wanted, content.status, placed, content.etag)

    def _written(self, wanted: Wanted, status: Status, placed: Placed, etag: str | None) -> Outcome:
        self.journal.add(
            Entry(
                path=wanted.path,
                source=wanted.source,
                status=status,
                size=placed.size,
                sha256=placed.sha256,
                etag=etag if status == "done" else None,
                durable=placed.durable,
            )
        )
        return Outcome(placed.path, status=status)

    def survived(self, path: str) -> bool:
        """Whether the file that the journal knows is certain to be whole."""
        entry = self.journal.get(path)
        return entry is not None and (entry.durable or self.holds(path))

    def holds(self, path: str) -> bool:
        """Whether the file still has the digest of its journal entry; then it is known from now on to have survived."""
        entry = self.journal.get(path)
        if entry is None or not files.has_digest(self.root / path, sha256=entry.sha256, crc32=entry.crc32):
            return False
        self.journal.mark_durable(path)
        return True

    def _on_disk(self, path: str) -> OnDisk:
        target = f"{self.root}/{path}"
        try:
            found = os.lstat(target)
            if stat.S_ISLNK(found.st_mode):
                return OnDisk("file", found.st_size) if Path(target).is_file() else OnDisk("other")
        except FileNotFoundError:
            return OnDisk("absent")
        except OSError as error:
            raise LocalError(f"{target} cannot be looked at: {error.strerror}") from None
        return OnDisk("file", found.st_size) if stat.S_ISREG(found.st_mode) else OnDisk("other")


def in_group(group_id: str, *names: str) -> str:
    """The relative path of a group's file: `<group>/<name>/…`, each made safe."""
    return "/".join(file_name(name) for name in (group_id, *names))


def beside(item_id: str, suffix: str) -> str:
    """The relative path of an item's file in the root: `<id><suffix>`."""
    return f"{file_name(item_id)}{suffix}"
