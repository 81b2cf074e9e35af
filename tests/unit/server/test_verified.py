"""Verified reading: every part of a blob comes out right, and no damaged blob comes out whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchloop_server.adapters.blobs_local import LocalBlobs
from benchloop_server.kit.verified import Blocks, DamagedBlob, Place, read_blocks, read_part, read_whole

DATA = hashlib.shake_128(b"blob").digest(2_500_000)
NAME = hashlib.sha256(DATA).hexdigest()
PLACE = Place(NAME, 0, len(DATA), NAME)
BLOCKS = Blocks(1000_000, [hashlib.sha256(DATA[at : at + 1000_000]).hexdigest() for at in range(0, len(DATA), 1000_000)])
Read = Callable[[LocalBlobs], Iterator[bytes]]


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    store = LocalBlobs(tmp_path)
    store.put_bytes(NAME, DATA)
    return store


def file_of(tmp_path: Path) -> Path:
    """Where the store keeps the blob."""
    return next(path for path in tmp_path.rglob(NAME))


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1), (0, len(DATA)), (999_999, 1_000_001), (2_400_000, 2_500_000), (1 << 20, 1 << 21), (5, 5)]
)
def test_parts_are_exact(blobs: LocalBlobs, start: int, stop: int) -> None:
    assert b"".join(read_part(blobs, PLACE, start=start, stop=stop)) == DATA[start:stop]
    assert b"".join(read_blocks(blobs, PLACE, BLOCKS, start=start, stop=stop)) == DATA[start:stop]


def test_whole(blobs: LocalBlobs) -> None:
    assert b"".join(read_whole(blobs, PLACE)) == DATA


READS: dict[str, Read] = {
    "whole": lambda blobs: read_whole(blobs, PLACE),
    "part": lambda blobs: read_part(blobs, PLACE, start=10, stop=2_000_010),
    "blocks": lambda blobs: read_blocks(blobs, PLACE, BLOCKS, start=10, stop=2_000_010),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("at", [0, 10, 1_999_999])
def test_a_flipped_byte_never_comes_out_as_complete(blobs: LocalBlobs, tmp_path: Path, read: str, at: int) -> None:
    path = file_of(tmp_path)
    path.write_bytes(DATA[:at] + bytes([DATA[at] ^ 1]) + DATA[at + 1 :])
    given = 0
    with pytest.raises(DamagedBlob):
        for chunk in READS[read](blobs):
            given += len(chunk)
    assert given < (len(DATA) if read == "whole" else 2_000_000)


@pytest.mark.parametrize("read", READS)
def test_missing_cut_and_grown_blobs_are_damage(blobs: LocalBlobs, tmp_path: Path, read: str) -> None:
    path = file_of(tmp_path)
    for content in (DATA[:1_999_000], DATA[:1_999_000] + b"xx" + DATA[1_999_000:]):
        path.write_bytes(content)
        with pytest.raises(DamagedBlob):
            b"".join(READS[read](blobs))
    path.unlink()
    with pytest.raises(DamagedBlob, match="missing"):
        b"".join(READS[read](blobs))


def test_an_empty_blob_is_a_blob(blobs: LocalBlobs) -> None:
    name = hashlib.sha256(b"").hexdigest()
    blobs.put_bytes(name, b"")
    assert b"".join(read_whole(blobs, Place(name, 0, 0, name))) == b""
