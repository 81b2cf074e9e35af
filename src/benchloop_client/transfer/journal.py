"""What was written, kept or failed under an output directory, one JSON object a line; survives kills, shared by processes."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec

from benchloop_client.errors import DiskFull, LocalError
from benchloop_client.transfer.files import NO_SPACE, sync_folder

FOLDER = ".benchloop"
NAME = "journal.jsonl"
SYNC_EVERY = 1.0
#: So many folders are synced one by one.
_MANY_FOLDERS = 16

Status = Literal["done", "missing", "placeholder", "failed"]


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file: `path` relative to the output directory with `/`; `source` names operation and ids; `sha256` in hex, or `crc32` in hex for
    a text that was put together from items whose SHA-256 was verified; `durable`: its content was synced; `at`: RFC 3339 UTC.
    """

    path: str
    status: Status
    source: str = ""
    size: int | None = None
    sha256: str | None = None
    crc32: str | None = None
    etag: str | None = None
    error: str | None = None
    durable: bool = False
    at: str = ""


class _Mark(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    state: Literal["begun", "finished"]
    at: str
    host: str = ""


class Journal:
    """The journal of one output directory; safe between threads, and between processes that append at the same time.

    `read_only`: what is there can be looked up, nothing is made or written.

    Memory: a few dozen bytes for each path, whatever the entries hold. A torn line, the last one or one in the middle, is skipped.
    """

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        self.path = root / FOLDER / NAME
        self._read_only = read_only
        if read_only and not self.path.is_file():
            self.path = Path(os.devnull)
        self._root = root
        self._lock, self._sync_lock = threading.Lock(), threading.Lock()
        self._offsets: dict[int, int] = {}
        self._runs: dict[str, tuple[str, int]] = {}
        #: The server of the latest run that named it.
        self.host = ""
        self._trusted_from: int | None = None
        self._folders: set[str] = set()
        self._synced_at = time.monotonic()
        self._handle = self._opened()
        self._scan()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Of how many paths it knows."""
        return len(self._offsets)

    def begin(self, run: str, *, host: str = "") -> bool:
        """Note that `run` (a name for command and ids) begins, against the server at `host`; True if an earlier one of that name did not
        finish. Then its entries count as `trusted`, so that only the rest is fetched.
        """
        state, offset = self._runs.get(run, ("finished", 0))
        unfinished = state == "begun"
        self._trusted_from = offset if unfinished else None
        if not unfinished:
            self._append(_Mark(run=run, state="begun", at=_now(), host=host))
            self.host = host or self.host
        return unfinished

    def finish(self, run: str) -> None:
        """Note that `run` finished without failures."""
        self._append(_Mark(run=run, state="finished", at=_now()))

    def unfinished(self) -> list[str]:
        """The names of the runs that were cut short."""
        return [run for run, (state, _) in self._runs.items() if state == "begun"]

    def add(self, entry: Entry) -> None:
        """Append `entry` (its `at` is filled in). Raises `DiskFull` or `LocalError`."""
        self.add_all((entry,))

    def add_all(self, entries: Iterable[Entry]) -> None:
        """Append several entries in one write."""
        now = _now()
        lines = []
        for entry in entries:
            text = {name: _utf8(value) for name in ("path", "source", "error", "etag") if (value := getattr(entry, name))}
            stamped = msgspec.structs.replace(entry, **text, at=entry.at or now)
            lines.append((stamped.path, msgspec.json.encode(stamped) + b"\n"))
        with self._lock:
            offset = self._write(b"".join(line for _, line in lines))
            for path, line in lines:
                self._offsets[_number(path)] = offset
                offset += len(line)
                self._folders.add(path.rpartition("/")[0])
            due = time.monotonic() - self._synced_at >= SYNC_EVERY
            if due:
                self._synced_at = time.monotonic()
        if due:
            # Outside the lock: a slow disk must not hold up those who only add a line.
            self.sync()

    def get(self, path: str) -> Entry | None:
        """The latest entry for `path`, None if there is none."""
        path = _utf8(path)
        with self._lock:
            offset = self._offsets.get(_number(path))
            entry = self._read(offset) if offset is not None else None
        return entry if entry is not None and entry.path == path else None

    def trusted(self, path: str) -> bool:
        """True when the entry for `path` was written by the unfinished run that is being resumed."""
        with self._lock:
            offset = self._offsets.get(_number(_utf8(path)), -1)
        return self._trusted_from is not None and offset >= self._trusted_from

    def mark_durable(self, path: str) -> None:
        """Note that the content of `path` is known to be on the disk."""
        entry = self.get(path)
        if entry is not None and not entry.durable:
            self.add(msgspec.structs.replace(entry, durable=True, at=""))

    def entries(self) -> Iterator[Entry]:
        """The latest entry of each path, oldest first; reads from the disk one by one."""
        with self._lock:
            offsets = sorted(self._offsets.values())
        for offset in offsets:
            with self._lock:
                entry = self._read(offset)
            if entry is not None:
                yield entry

    def sync(self) -> None:
        """Make the journal and the names of the files it lists durable; done by itself once a second and at the end."""
        with self._sync_lock:
            with self._lock:
                handle, folders, self._folders = self._handle, self._folders, set()
            if handle >= 0 and not self._read_only:
                self._sync(handle, folders)

    def close(self) -> None:
        """Sync and close; further calls fail."""
        self.sync()
        with self._sync_lock, self._lock:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _opened(self) -> int:
        try:
            if self._read_only:
                return os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise LocalError(f"the journal {self.path} cannot be opened: {error.strerror}") from None

    def _append(self, mark: _Mark) -> None:
        with self._lock:
            self._runs[mark.run] = (mark.state, self._write(msgspec.json.encode(mark) + b"\n"))
        self.sync()

    def _write(self, line: bytes) -> int:
        """Append one line in one write, so that lines of several processes do not mix, and return where it begins."""
        if self._read_only:
            return 0
        try:
            written = os.write(self._handle, line)
            if written < len(line):
                os.write(self._handle, b"\n")
                raise OSError(errno.ENOSPC, "no space left for a whole line")
        except OSError as error:
            kind = DiskFull if error.errno in NO_SPACE else LocalError
            raise kind(f"the journal {self.path} cannot be written: {error.strerror}") from None
        # With O_APPEND the position after a write is the end of what this process wrote.
        return os.lseek(self._handle, 0, os.SEEK_CUR) - len(line)

    def _sync(self, handle: int, folders: set[str]) -> None:
        self._synced_at = time.monotonic()
        try:
            os.fsync(handle)
        except OSError:
            return
        if len(folders) > _MANY_FOLDERS:
            # A sync for each would cost more than all else. A name that a crash of the machine takes away is missed by the next run.
            folders = {folder.partition("/")[0] for folder in folders}
        for folder in sorted(folders)[:_MANY_FOLDERS]:
            sync_folder(self._root / folder)

    def _read(self, offset: int) -> Entry | None:
        with open(self.path, "rb") as file:
            file.seek(offset)
            return _entry(file.readline())

    def _scan(self) -> None:
        offset, line = 0, b"\n"
        with open(self.path, "rb") as file:
            for line in file:
                self._index(line, offset)
                offset += len(line)
        if not line.endswith(b"\n") and not self._read_only:
            os.write(self._handle, b"\n")

    def _index(self, line: bytes, offset: int) -> None:
        entry = _entry(line)
        if entry is not None:
            self._offsets[_number(entry.path)] = offset
            return
        try:
            mark = msgspec.json.decode(line, type=_Mark)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        self._runs[mark.run] = (mark.state, offset)
        self.host = mark.host or self.host


def _entry(line: bytes) -> Entry | None:
    try:
        return msgspec.json.decode(line, type=Entry)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _utf8(path: str) -> str:
    """A path of bytes that are no UTF-8 in a form that JSON can hold."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _number(path: str) -> int:
    return int.from_bytes(hashlib.blake2b(path.encode("utf-8"), digest_size=8).digest(), "big")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
