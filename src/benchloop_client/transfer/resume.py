"""Parts of downloads that are worth keeping: what arrived stays in the output directory, and the next try goes on where this one stopped.

    store = Parts(root)
    with store.open(source, path) as part:               # taken up again, or new (`part.state.offset` is 0 then)
        answer = ask(start=part.state.offset, if_range=part.state.etag)
        if not part.fits(answer.offset, answer.etag):    # the whole came, or another version
            part.begin(etag=answer.etag, total=answer.length)
        for piece in answer:
            part.write(piece)
            part.checkpoint(wire_offset)                 # may be called for each piece, writes now and then
        placed = part.finish(path, expect=Expect(size, sha256))

Leaving the `with` block without `finish` keeps the part, unless what arrived was wrong (`IntegrityError`) and only a digest of the whole
would have told.

On the disk: `<root>/.benchloop/parts/<key>.<random>.part`, and beside it `<key>.<owner>.<random>.state`, JSON lines: a `Head`, then a
`State` for each checkpoint. The owner is the process that works on it. Whoever renames the state of a dead process to its own name has
taken the part over; a process that finds the part in use makes one of its own. No lock of the file system is needed for that.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from benchloop_client.errors import BenchloopError, IntegrityError
from benchloop_client.transfer import owners, states
from benchloop_client.transfer.files import SYNCED_SIZE, Expect, Placed, contained, local_error, make_folder, sync_folder, verify
from benchloop_client.transfer.states import Head, Kept, State, strong

FOLDER = Path(".benchloop", "parts")
#: From this size on a body is worth a part that is kept.
WORTH_KEEPING = 1 << 20
#: A checkpoint is written after so many bytes, or seconds.
EVERY_BYTES, EVERY_SECONDS = 4 << 20, 1.0
#: After so many bytes a checkpoint is synced too, so that a crash of the machine does not take everything.
_SYNC_BYTES = 256 << 20
_READ = 1 << 20

_in_use: set[str] = set()
_in_use_lock = threading.Lock()


class Parts:
    """The parts below one output directory. Safe between threads and between processes."""

    def __init__(self, root: Path, *, fsync: bool = False) -> None:
        self._root = root
        self._fsync = fsync
        self.folder = root / FOLDER
        self._keys: set[str] | None = None

    def open(self, source: str, path: str, *, digest: bool = True) -> Part:
        """The part for what `source` names, which is to become `path` (relative). What an earlier try left is taken up, unless a process
        works on it. Without `digest` no SHA-256 is made and a resumed part is not read again: whoever writes has checked each piece.

        Raises `LocalError` and `DiskFull`.
        """
        key = _key(source, path)
        if self._keys is not None:
            self._keys.add(key)
        for kept in sorted(self._of(key), key=lambda found: -found.state.offset):
            mine = self._taken(kept, key)
            if mine is not None:
                return Part(self._root, mine, digest=digest, fsync=self._fsync)
        return Part(
            self._root,
            self._made(key, Head(part=f"{key}.{secrets.token_hex(6)}.part", source=source, path=path)),
            digest=digest,
            fsync=self._fsync,
        )

    def peek(self, source: str, path: str) -> State | None:
        """What `open` would take up, None if nothing; cheap when there is nothing. Parts that other processes make later are not seen."""
        if self._keys is None:
            self._keys = {name.partition(".")[0] for name in self._names()}
        if not self._keys or _key(source, path) not in self._keys:
            return None
        found = [kept.state for kept in self._of(_key(source, path)) if kept.state.offset and not _busy(kept)]
        return max(found, key=lambda state: state.offset, default=None)

    def all(self) -> Iterator[Kept]:
        """Every part with its state, whoever owns it."""
        for name in self._names():
            if name.endswith(".state"):
                kept = states.read(self.folder / name)
                if kept is not None:
                    yield kept

    def _of(self, key: str) -> list[Kept]:
        files = [self.folder / name for name in self._names() if name.startswith(f"{key}.") and name.endswith(".state")]
        return [kept for kept in map(states.read, files) if kept is not None]

    def _names(self) -> list[str]:
        try:
            return [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise local_error(error, self.folder) from None

    def _taken(self, kept: Kept, key: str) -> Kept | None:
        """`kept` under this process's name, None if another works on it or was faster."""
        mine = self.folder / f"{key}.{owners.me()}.{secrets.token_hex(3)}.state"
        with _in_use_lock:
            if _busy(kept):
                return None
            try:
                kept.state_file.rename(mine)
            except OSError:
                return None
            _in_use.add(mine.name)
        return Kept(kept.head, kept.state, mine, owners.me())

    def _made(self, key: str, head: Head) -> Kept:
        contained(self.folder / head.part, root=self._root)
        state_file = self.folder / f"{key}.{owners.me()}.{secrets.token_hex(3)}.state"
        try:
            make_folder(self.folder, self._root)
            with _in_use_lock:
                _in_use.add(state_file.name)
            # The state first: a part without one is known to be nobody's.
            with open(state_file, "xb") as file:
                file.write(msgspec.json.encode(head) + b"\n")
            open(self.folder / head.part, "xb").close()
        except OSError as error:
            _let_go(state_file)
            raise local_error(error, self.folder / head.part) from None
        return Kept(head, State(), state_file, owners.me())


class Part:
    """One part, open for writing at its end. `state`: the last checkpoint, which is also where writing begins."""

    def __init__(self, root: Path, kept: Kept, *, digest: bool = True, fsync: bool = False) -> None:
        self._root, self._kept, self._fsync = root, kept, fsync
        self.state = kept.state
        self.path = kept.file
        self._hash = hashlib.sha256() if digest else None
        self._hashed = 0
        self._written_at, self._durable_at = time.monotonic(), kept.state.offset
        #: The last checkpoint that was asked for, written down or not.
        self._asked: State | None = None
        try:
            self._log = open(kept.state_file, "ab", buffering=0)  # noqa: SIM115 - closed by `_close`
            self._file = open(self.path, "r+b", buffering=0)  # noqa: SIM115 - closed by `_close`
            self._cut_back()
        except OSError as error:
            _let_go(kept.state_file)
            raise local_error(error, self.path) from None

    def __enter__(self) -> Part:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Without a digest of the whole, each piece was checked before it was written: what is wrong came behind the last checkpoint.
        if isinstance(error, IntegrityError) and self._hash is not None:
            self.abandon()
        else:
            self.keep()

    @property
    def size(self) -> int:
        """Bytes in the part now."""
        return self._size

    @property
    def source(self) -> str:
        """What it is fetched from."""
        return self._kept.head.source

    @property
    def target(self) -> str:
        """What it is to become, relative to the root."""
        return self._kept.head.path

    @property
    def root(self) -> Path:
        """The output directory that the part belongs to."""
        return self._root

    @property
    def fsync(self) -> bool:
        """Whether files are synced whatever their size."""
        return self._fsync

    @property
    def can_have_holes(self) -> bool:
        """Whether this system can write at several places of a file."""
        return hasattr(os, "pwrite")

    def reserve(self, total: int) -> None:
        """Make the part as long as the whole, for `write_at`; every checkpoint must tell the holes in its note then."""
        try:
            self._file.truncate(total)
        except OSError as error:
            raise local_error(error, self.path, need=total) from None
        self._size = total

    def write_at(self, piece: bytes | memoryview, position: int, *, hashes: bool = False) -> None:
        """Write at `position`, from any thread. One of them may say `hashes`: what follows the bytes in the digest is added at once."""
        if hashes and self._hash is not None and position == self._hashed:
            self._hash.update(piece)
            self._hashed += len(piece)
        rest = memoryview(piece)
        try:
            while rest:
                written = os.pwrite(self._file.fileno(), rest, position)
                rest, position = rest[written:], position + written
        except OSError as error:
            raise local_error(error, self.path, need=self.state.total) from None

    def fits(self, offset: int, etag: str | None) -> bool:
        """Whether an answer that begins at `offset` of the version `etag` goes on exactly where this part stops."""
        return self.state.offset > 0 and offset == self.state.offset and etag == self.state.etag

    def begin(self, *, etag: str | None, total: int | None = None) -> None:
        """Forget everything and start with the first byte of the version `etag`; an empty or weak one cannot be taken up again later."""
        try:
            self._file.seek(0)
            self._file.truncate()
        except OSError as error:
            raise local_error(error, self.path) from None
        self._size = self._durable_at = self._hashed = 0
        self._hash = hashlib.sha256() if self._hash is not None else None
        self._asked = None
        self._log_state(State(etag=etag if strong(etag) and etag else "", total=total))

    def write(self, piece: bytes | bytearray | memoryview) -> None:
        """Append. Raises `DiskFull` and `LocalError`."""
        if self._hash is not None:
            self._hash.update(piece)
            self._hashed += len(piece)
        rest = memoryview(piece)
        self._size += len(rest)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise local_error(error, self.path, need=self.state.total) from None

    def checkpoint(self, offset: int, *, items: int = 0, note: Any = None, force: bool = False) -> bool:
        """Note that everything up to byte `offset` of the answer is in the part as it is now; True if it was written down. Only every
        `EVERY_BYTES` or `EVERY_SECONDS`, or with `force`; but the last one is when the part is left unfinished, so `note` must not change.
        """
        now = time.monotonic()
        etag, total = self.state.etag, self.state.total
        self._asked = asked = State(etag=etag, offset=offset, size=self._size, total=total, items=items, note=note)
        if not force and offset - self.state.offset < EVERY_BYTES and now - self._written_at < EVERY_SECONDS:
            return False
        self._written_at = now
        self._write_down(asked)
        return True

    def settle(self) -> None:
        """Write down the last checkpoint that was asked for, if it was not yet: something long comes behind it. Before that comes."""
        if self._asked is not None and self._asked.offset > self.state.offset:
            self._written_at = time.monotonic()
            self._write_down(self._asked)

    def finish(self, path: str | Path, *, expect: Expect | None = None) -> Placed:
        """Check the part and give it its name `path` (relative to the root). `Placed.sha256` is None without a digest.

        Raises `IntegrityError` (the part is of no use then), `LocalError`, `DiskFull`.
        """
        expect = expect or Expect()
        target = contained(Path(path), root=self._root)
        digest = self._hash.hexdigest() if self._hash is not None else None
        verify(target, expect, self._size, digest)
        durable = self._fsync or self._size >= SYNCED_SIZE
        try:
            make_folder(target.parent, self._root)
            if durable:
                self._sync()
            self._close()
            self.path.replace(target)
            if durable:
                sync_folder(target.parent)
        except OSError as error:
            raise local_error(error, target, need=expect.size) from None
        self._forget()
        return Placed(target, self._size, digest, durable)

    def read(self) -> Iterator[bytes]:
        """The bytes from the beginning, in pieces."""
        with open(self.path, "rb", buffering=0) as file:
            while piece := file.read(_READ):
                yield piece

    def hash_rest(self) -> None:
        """Take what `write_at` wrote and the digest does not have into it. Raises `IntegrityError` for a file that became shorter."""
        if self._hash is None or self._hashed >= self._size:
            return
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self._hashed)
            while self._hashed < self._size:
                piece = file.read(min(_READ, self._size - self._hashed))
                if not piece:
                    raise IntegrityError(f"{self._kept.head.path}: the part is shorter than what was written to it")
                self._hash.update(piece)
                self._hashed += len(piece)

    def keep(self) -> None:
        """Close; what the last checkpoint says can be taken up by the next try. A part without any use is removed."""
        if self._file.closed:
            return
        self._keep_last()
        if not (self.state.etag and self.state.offset):
            self.abandon()
            return
        self._close()
        _let_go(self._kept.state_file)

    def abandon(self) -> None:
        """Close and remove."""
        if not self._file.closed:
            self._close()
        self._forget()

    def _keep_last(self) -> None:
        """Write down the last checkpoint that was asked for, without what came behind it: on a full disk that may be half a piece."""
        asked = self._asked
        if asked is None or asked.offset <= self.state.offset or asked.etag != self.state.etag:
            return
        with suppress(OSError, BenchloopError):
            self._file.truncate(asked.size)
            self._write_down(asked)

    def _write_down(self, asked: State) -> None:
        boot = owners.boot()
        sync = asked.offset - self._durable_at >= _SYNC_BYTES or not boot
        if sync:
            self._sync()
            self._durable_at = asked.offset
        self._log_state(msgspec.structs.replace(asked, durable=sync, boot=boot))

    def _cut_back(self) -> None:
        self._size = self.state.size
        self._file.truncate(self._size)
        self._file.seek(self._size)
        # With holes in it, it is read when they are filled.
        if not (isinstance(self.state.note, dict) and "holes" in self.state.note):
            self.hash_rest()

    def _log_state(self, state: State) -> None:
        self.state = state
        try:
            line = msgspec.json.encode(state) + b"\n"
            if self._log.write(line) != len(line):
                self._log.write(b"\n")
        except OSError as error:
            raise local_error(error, self._kept.state_file) from None

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise local_error(error, self.path) from None

    def _close(self) -> None:
        self._file.close()
        self._log.close()

    def _forget(self) -> None:
        states.remove(self._kept)
        _let_go(self._kept.state_file)


def _key(source: str, path: str) -> str:
    return hashlib.sha256(f"{source}\0{path}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _let_go(state_file: Path) -> None:
    with _in_use_lock:
        _in_use.discard(state_file.name)


def _busy(kept: Kept) -> bool:
    if kept.owner == owners.me():
        return kept.state_file.name in _in_use
    return owners.lives(kept.owner, kept.state_file)
