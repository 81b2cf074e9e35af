"""Many small files below one folder, each whole or not there: named relative to the open folder, so that no link can lead out of it and no
path has to be followed from its beginning for each of them.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from types import TracebackType

from benchloop_client.errors import LocalError
from benchloop_client.transfer import files
from benchloop_client.transfer.files import SYNCED_SIZE, Expect, Placed
from benchloop_client.transfer.ways import part_name

#: What the fast way needs; without it (Windows) each file is placed by `files.place`.
_RELATIVE = {os.open, os.mkdir, os.rename, os.stat, os.unlink} <= os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Folder:
    """One folder inside `root`, made if needed. Files go into it, or into folders just below it. Not for several threads.

    A context manager. Raises `LocalError` for a folder that leads out of `root`.
    """

    def __init__(self, root: Path, *names: str, fsync: bool = False) -> None:
        self._root, self._names, self._fsync = root, names, fsync
        self._path = root.joinpath(*names)
        self._handle = -1
        try:
            files.contained(self._path / "x", root=root)
            files.make_folder(self._path, root)
            if _RELATIVE:
                self._handle = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise files.local_error(error, self._path) from None

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def put(self, names: tuple[str, ...], data: bytes, *, sha256: str | None = None) -> Placed:
        """Write one file: `names` is its name, with that of a folder before it or not. `sha256` is its digest, if that is known for sure.

        Raises `LocalError` and `DiskFull`; then no part of it is left.
        """
        if self._handle < 0:
            return files.place(Path(*self._names, *names), (data,), root=self._root, expect=Expect(len(data)), fsync=self._fsync)
        durable = self._fsync or len(data) >= SYNCED_SIZE
        part = "/".join((*names[:-1], part_name(names[-1])))
        try:
            self._make(names[:-1])
            try:
                self._write(part, data, durable=durable)
                os.rename(part, "/".join(names), src_dir_fd=self._handle, dst_dir_fd=self._handle)
            except BaseException:
                self._remove(part)
                raise
            if durable:
                files.sync_folder(self._path.joinpath(*names[:-1]))
        except OSError as error:
            raise files.local_error(error, self._path.joinpath(*names), need=len(data)) from None
        return Placed(self._path.joinpath(*names), len(data), sha256 or hashlib.sha256(data).hexdigest(), durable)

    def _make(self, folders: tuple[str, ...]) -> None:
        for folder in folders:
            try:
                os.mkdir(folder, dir_fd=self._handle)
            except FileExistsError:
                if not stat.S_ISDIR(os.stat(folder, dir_fd=self._handle, follow_symlinks=False).st_mode):
                    raise LocalError(f"{self._path / folder} is no folder; one of that name is needed") from None

    def _write(self, part: str, data: bytes, *, durable: bool) -> None:
        handle = os.open(part, _FLAGS, 0o666, dir_fd=self._handle)
        try:
            written = os.write(handle, data)
            rest = memoryview(data)[written:]
            while rest:
                rest = rest[os.write(handle, rest) :]
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)

    def _remove(self, part: str) -> None:
        try:
            os.unlink(part, dir_fd=self._handle)
        except OSError:
            return
