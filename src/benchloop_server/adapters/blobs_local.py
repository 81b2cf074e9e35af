"""Blobs in a folder: written under a temporary name, synced, linked to the final name and the folder synced before the call returns."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from benchloop_client.contract.ids import SHA256
from benchloop_server.kit.blobs import CHUNK, BlobMissing, check_range


class LocalBlobs:
    """A `BlobStore` in the folder `root`, as `<ab>/<cd>/<sha256>`. Files that a crash left half written stay in `root/incoming`."""

    kind = "folder"

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)

    def put_bytes(self, sha256: str, data: bytes) -> bool:
        """See `BlobStore`."""
        target = self._path(sha256)
        if target.exists():
            return False
        with self._temporary() as temporary:
            with temporary.open("xb") as file:
                file.write(data)
                _sync(file)
            return self._publish(temporary, target)

    def put_file(self, sha256: str, path: Path) -> bool:
        """See `BlobStore`. A file on the same file system is linked, not copied."""
        target = self._path(sha256)
        if target.exists():
            return False
        with self._temporary() as temporary:
            try:
                os.link(path, temporary)
            except OSError:
                shutil.copyfile(path, temporary)
            with temporary.open("rb+") as file:
                _sync(file)
            return self._publish(temporary, target)

    def read(self, sha256: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        """See `BlobStore`."""
        try:
            file = self._path(sha256).open("rb")
        except FileNotFoundError:
            raise BlobMissing(sha256) from None
        try:
            wanted = check_range(os.fstat(file.fileno()).st_size, offset=offset, length=length)
            file.seek(offset)
        except BaseException:
            file.close()
            raise
        return _chunks(file, wanted)

    def size(self, sha256: str) -> int:
        """See `BlobStore`."""
        try:
            return self._path(sha256).stat().st_size
        except FileNotFoundError:
            raise BlobMissing(sha256) from None

    def exists(self, sha256: str) -> bool:
        """See `BlobStore`."""
        return self._path(sha256).exists()

    def aged(self, before: float) -> Iterator[tuple[str, int]]:
        """See `BlobStore`."""
        for path in self._root.glob("[0-9a-f][0-9a-f]/[0-9a-f][0-9a-f]/*"):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                if found.st_mtime < before and SHA256.match(path.name):
                    yield path.name, found.st_size

    def link(self, sha256: str, *, seconds: int) -> str | None:
        """See `BlobStore`: a folder has no addresses."""
        return None

    def delete(self, sha256: str) -> None:
        """See `BlobStore`."""
        self._path(sha256).unlink(missing_ok=True)

    def _path(self, sha256: str) -> Path:
        if not SHA256.match(sha256):
            raise ValueError(f"{sha256!r} is not the name of a blob")
        return self._root / sha256[:2] / sha256[2:4] / sha256

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[Path]:
        path = self._incoming / secrets.token_hex(16)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _publish(self, temporary: Path, target: Path) -> bool:
        self._make_folder(target.parent)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        finally:
            # Also when another writer was first: its link may not be synced yet, and the caller is about to promise that it is.
            _sync_folder(target.parent)
        return True

    def _make_folder(self, folder: Path) -> None:
        for each in (folder.parent, folder):
            if not each.exists():
                each.mkdir(exist_ok=True)
                _sync_folder(each.parent)


def _chunks(file: IO[bytes], wanted: int) -> Iterator[bytes]:
    with contextlib.closing(file):
        while wanted:
            chunk = file.read(min(CHUNK, wanted))
            if not chunk:
                raise OSError("a blob is shorter than when it was opened")
            wanted -= len(chunk)
            yield chunk


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
