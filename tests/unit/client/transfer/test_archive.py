"""The archive of a job: deterministic, one gzip member an entry, and no file slips in that changed."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from pathlib import Path

import pytest

from benchloop_client.formats.records import RunFile
from benchloop_client.transfer.archive import ArchiveError, safe_path, write_archive


def built(*files: RunFile) -> bytes:
    out = io.BytesIO()
    info = write_archive(files, out)
    raw = out.getvalue()
    assert (info.size, info.sha256) == (len(raw), hashlib.sha256(raw).hexdigest())
    return raw


def held(path: str, data: bytes = b"x", executable: bool = False) -> RunFile:
    return RunFile(path, data, len(data), executable)


def members(raw: bytes) -> list[bytes]:
    """The plain bytes of each gzip member."""
    found = []
    while raw:
        unpack = zlib.decompressobj(31)
        found.append(unpack.decompress(raw) + unpack.flush())
        raw = unpack.unused_data
    return found


def test_it_is_a_tgz_like_any_other() -> None:
    raw = built(held("b/ü.txt", b"two"), held("a.sh", b"#!", executable=True), held("c/" + "n" * 200, b""))
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:gz") as archive:
        entries = archive.getmembers()
        assert [(entry.name, entry.mode, entry.mtime, entry.uid, entry.uname) for entry in entries] == [
            ("a.sh", 0o755, 0, 0, ""), ("b/ü.txt", 0o644, 0, 0, ""), ("c/" + "n" * 200, 0o644, 0, 0, ""),
        ]  # fmt: skip
        assert archive.extractfile(entries[1]).read() == b"two"  # type: ignore[union-attr]


def test_equal_files_give_equal_bytes_in_any_order(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"data")
    os.utime(place, (1, 1))
    one = built(RunFile("a", place, 4), held("b"))
    os.utime(place, (9, 9))
    assert one == built(held("b"), held("a", b"data"))


def test_each_entry_is_a_member_and_the_end_is_one_more() -> None:
    parts = members(built(held("a", b"1" * 600), held("b", b"")))
    assert [len(part) for part in parts] == [512 + 1024, 512, 1024] and parts[-1] == b"\0" * 1024
    assert gzip.decompress(built(held("a"))) == b"".join(members(built(held("a"))))
    assert members(built()) == [b"\0" * 1024]


@pytest.mark.parametrize("size", [3, 5])
def test_a_file_that_changed_its_length_is_refused(tmp_path: Path, size: int) -> None:
    place = tmp_path / "f"
    place.write_bytes(b"four")
    with pytest.raises(ArchiveError, match="longer" if size == 3 else "shorter"):
        built(RunFile("f", place, size))
    with pytest.raises(ArchiveError, match="announced"):
        built(RunFile("f", b"four", size))


def test_a_file_replaced_by_a_link_or_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"four")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises((ArchiveError, OSError)):
            built(RunFile("f", tmp_path / name, 4))


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a\\b", "C:/a", "a\0b"])
def test_unsafe_paths_are_refused(path: str) -> None:
    assert not safe_path(path)
    with pytest.raises(ArchiveError):
        built(held(path))


def test_a_path_taken_twice_is_refused() -> None:
    with pytest.raises(ArchiveError, match="twice"):
        built(held("a"), held("a"))
