"""The pieces of a ZIP file while they are collected, and the ZIP itself as a stream of bytes."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from benchloop_client.transfer import files

#: How hard entries are deflated unless something else is asked for, 0 to 9.
LEVEL = 1
_CHUNK = 1 << 18
_FILE_MODE = 0o100644 << 16


class Parts:
    """A hidden folder beside the ZIP, one file a part, each whole or not there. Safe between threads. It stays after an interrupt."""

    def __init__(self, root: Path, target: str, *, keep: bool) -> None:
        """`target`: the ZIP's path in `root`; `keep` false drops what an earlier run left."""
        self._root = root
        self._folder = f".{target}.parts"
        if not keep:
            self.remove()

    def has(self, name: str) -> bool:
        """Whether a part is there."""
        return self._path(name).is_file()

    def put(self, name: str, data: bytes | Iterable[bytes], *, expect: files.Expect | None = None) -> None:
        """Add a part. Raises as `files.place` does, and what `data` raises."""
        files.place(Path(self._folder, name), (data,) if isinstance(data, bytes) else data, root=self._root, expect=expect)

    def read(self, name: str) -> bytes:
        """A part's bytes."""
        return self._path(name).read_bytes()

    def files(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, Path]]:
        """Those parts among `<folder>/<name>` that are there, as (name in the ZIP, file)."""
        for name in names:
            path = self._path(f"{folder}/{name}")
            if path.is_file():
                yield f"{folder}/{name}", path
            elif path.is_dir():
                yield from ((f"{folder}/{name}/{inner.name}", inner) for inner in sorted(path.iterdir()) if not inner.name.startswith("."))

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self._root / self._folder, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._root / self._folder / name


class _Pipe(io.RawIOBase):
    """The file that `zipfile` writes to; what was written is taken out again at once. It cannot seek, so sizes follow the data."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    def writable(self) -> bool:
        """It only takes."""
        return True

    def write(self, data: Any, /) -> int:
        """Keep a copy until it is taken."""
        self._pending.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        """What was written since the last call."""
        data = b"".join(self._pending)
        self._pending.clear()
        return data


def zip_chunks(entries: Iterable[tuple[str, Path | bytes]], *, level: int = LEVEL) -> Iterator[bytes]:
    """A ZIP of the entries in their order, deflated, ZIP64 where needed, in constant memory; equal entries give equal bytes."""
    pipe = _Pipe()
    method = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    with zipfile.ZipFile(cast(IO[bytes], pipe), "w", method, compresslevel=level or None) as archive:
        for name, source in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = _FILE_MODE
            info.compress_type = method
            info.file_size = len(source) if isinstance(source, bytes) else source.stat().st_size
            with archive.open(info, "w") as entry:
                for chunk in _read(source):
                    entry.write(chunk)
                    yield pipe.taken()
            yield pipe.taken()
    yield pipe.taken()


def _read(source: Path | bytes) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with open(source, "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
