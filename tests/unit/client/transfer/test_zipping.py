"""ZIP files put together entry by entry: other programs read them, and a broken one can be gone on with."""

from __future__ import annotations

import io
import shutil
import subprocess
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.errors import IntegrityError
from benchloop_client.transfer import zipping
from benchloop_client.transfer.zipping import DEFLATED, LAST, STORED, Entry

_FILES = st.dictionaries(st.text(alphabet="abü/._-%", min_size=1, max_size=20), st.binary(max_size=400), max_size=6)


def entry(name: str, pieces: list[bytes], level: int = 1, *, large: bool = False) -> bytes:
    """An entry made of pieces."""
    data = b"".join(pieces)
    packed = b"".join(zipping.deflated(piece, level, last=len(pieces) == 1) for piece in pieces)
    packed += LAST if level and len(pieces) != 1 else b""
    method = DEFLATED if level else STORED
    return zipping.head(Entry(name, method, zlib.crc32(data), len(data), len(packed)), large=large) + packed


def finished(body: bytes) -> bytes:
    """A ZIP of entries."""
    return body + b"".join(zipping.directory(io.BytesIO(body), len(body)))


@settings(deadline=None)
@given(files=_FILES, level=st.integers(0, 9), large=st.booleans(), piece=st.integers(1, 500))
def test_zipfile_reads_what_was_put_together(files: dict[str, bytes], level: int, large: bool, piece: int) -> None:
    body = b"".join(
        entry(name, [data[at : at + piece] for at in range(0, len(data), piece)] or [b""], level, large=large)
        for name, data in files.items()
    )
    with zipfile.ZipFile(io.BytesIO(finished(body))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == files
        assert archive.namelist() == list(files)
    found = list(zipping.entries(io.BytesIO(body), len(body)))
    assert {one.name: zipping.content(io.BytesIO(body), one) for one in found} == files


def test_more_entries_than_the_old_format_can_count() -> None:
    body = b"".join(entry(f"a/{n}", [b""]) for n in range(70_000))
    with zipfile.ZipFile(io.BytesIO(finished(body))) as archive:
        assert len(archive.namelist()) == 70_000


@pytest.mark.skipif(shutil.which("unzip") is None, reason="unzip is not installed")
def test_unzip_is_content(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(finished(entry("a/b.txt", [b"x" * 70_000, b"y"]) + entry("ü.txt", [b"z"], 0) + entry("big", [b"w"], large=True)))
    done = subprocess.run(["unzip", "-t", str(path)], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, "No errors detected" in done.stdout) == (0, True), done.stdout + done.stderr


def test_places_and_sizes_beyond_four_gigabytes_are_in_the_directory(tmp_path: Path) -> None:
    size = (1 << 32) + 5
    first = Entry("large", STORED, 7, size, size)
    path = tmp_path / "sparse"
    with open(path, "w+b", buffering=0) as file:
        file.write(zipping.head(first))
        file.truncate(len(zipping.head(first)) + size)
        file.seek(0, 2)
        file.write(entry("after", [b"hello"]))
        end = file.tell()
        for piece in zipping.directory(file, end):
            file.seek(0, 2)
            file.write(piece)
    with zipfile.ZipFile(path) as archive:
        assert [(info.filename, info.file_size) for info in archive.infolist()] == [("large", size), ("after", 5)]
        assert archive.read("after") == b"hello"


@pytest.mark.parametrize("spoilt", [b"PK\1\2" + b"x" * 60, b"x" * 10, entry("a", [b"abc"])[:-1]])
def test_something_else_in_the_file_is_noticed(spoilt: bytes) -> None:
    body = entry("first", [b"1"]) + spoilt
    with pytest.raises(IntegrityError):
        list(zipping.entries(io.BytesIO(body), len(body)))


def test_a_damaged_entry_is_noticed() -> None:
    body = bytearray(entry("first", [b"hello hello hello"]))
    body[-3] ^= 1
    with pytest.raises(IntegrityError):
        for one in zipping.entries(io.BytesIO(bytes(body)), len(body)):
            zipping.content(io.BytesIO(bytes(body)), one)
