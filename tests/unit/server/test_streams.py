"""The pure parts of streamed answers: zstd frames, byte ranges, packs and staging."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_client.contract.compression import PLAIN_CHUNK, BadFrames, Decoder, TooMuch, decode, frame
from benchloop_server.adapters.blobs_local import LocalBlobs
from benchloop_server.features.exports.plan import Plan
from benchloop_server.http.ranges import Unsatisfiable, accepts_zstd, byte_range, has_version, range_applies
from benchloop_server.kit.packs import Packer
from benchloop_server.kit.segments import Frames, literal
from benchloop_server.kit.staging import Staged, sweep
from benchloop_server.kit.verified import Place, read_whole


@given(st.lists(st.binary(max_size=2000), max_size=8), st.integers(1, 50))
def test_frames_decode_in_any_pieces(parts: list[bytes], step: int) -> None:
    whole = b"".join(frame(part) for part in parts)
    assert b"".join(decode(whole[at : at + step] for at in range(0, len(whole), step))) == b"".join(parts)


def test_a_decoder_is_bounded_and_refuses_damage() -> None:
    bomb = frame(bytes(64 << 20))
    assert max(len(chunk) for chunk in decode([bomb])) <= PLAIN_CHUNK
    with pytest.raises(TooMuch):
        list(Decoder(limit=1000).feed(bomb))
    for damaged in (bomb[:-1], b"\x00" * 20, bomb[:50] + b"!" + bomb[51:], frame(b"hello")[:-1] + b"?"):
        with pytest.raises(BadFrames):
            list(decode([damaged]))


@given(st.binary(max_size=600))
def test_a_literal_is_the_same_in_both_forms(plain: bytes) -> None:
    assert b"".join(decode([literal(plain).stored])) == plain


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (None, None),
        ("bytes=0-", (0, 100)),
        ("bytes=5-9", (5, 10)),
        ("bytes=99-200", (99, 100)),
        ("bytes=-10", (90, 100)),
        ("bytes=-1000", (0, 100)),
        ("BYTES=5-5", (5, 6)),
        ("bytes=1-2,3-4", None),
        ("bytes=9-5", None),
        ("bytes=", None),
        ("bytes=-", None),
        ("items=1-2", None),
        ("bytes=٣-٤", None),
        ("bytes=0x1-2", None),
    ],
)
def test_byte_ranges(header: str | None, found: tuple[int, int] | None) -> None:
    assert byte_range(header, 100) == found


BEYOND = [("bytes=100-", 100), ("bytes=-0", 100), ("bytes=0-", 0), ("bytes=-5", 0), ("bytes=999-1000", 5)]


@pytest.mark.parametrize(("header", "length"), BEYOND)
def test_ranges_beyond_the_end(header: str, length: int) -> None:
    with pytest.raises(Unsatisfiable):
        byte_range(header, length)


def test_versions_and_codings() -> None:
    assert has_version('W/"a", "b"', '"b"')
    assert has_version("*", '"b"')
    assert has_version('W/"b"', '"b"')
    assert not has_version('"a"', '"b"')
    assert range_applies(None, '"b"')
    assert not range_applies('W/"b"', '"b"')
    assert not range_applies("Wed, 21 Oct 2015 07:28:00 GMT", '"b"')
    assert accepts_zstd("gzip, ZSTD;q=0.5")
    assert not any(accepts_zstd(text) for text in (None, "", "*", "gzip", "zstd;q=0", "zstd; q=0.000", "xzstd"))


def test_packs_hold_small_things_together_and_large_ones_alone(tmp_path: Path) -> None:
    blobs, scratch = LocalBlobs(tmp_path / "blobs"), tmp_path
    things = [os.urandom(size) for size in (10, 0, 300_000, 2_000_000, 5)]
    with Packer(blobs, scratch) as packer:
        parts = []
        for thing in things:
            with Staged(scratch) as staged:
                staged.write(thing)
                parts.append(packer.add(staged))
        packer.close()
    places = [packer.place(part) for part in parts]
    assert [b"".join(read_whole(blobs, place)) for place in places] == things
    assert len({place.blob for place in places}) == 2
    assert places[3].blob == hashlib.sha256(things[3]).hexdigest()
    assert not list(scratch.glob("staged-*"))


def test_full_packs_are_sealed(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path / "blobs")
    with Packer(blobs, tmp_path) as packer:
        parts = [packer.add_bytes(os.urandom(900_000)) for _ in range(25)]
        packer.close()
    assert len({packer.place(part).blob for part in parts}) == 3


def test_a_dropped_packer_leaves_no_file(tmp_path: Path) -> None:
    with Packer(LocalBlobs(tmp_path / "blobs"), tmp_path) as packer:
        for _ in range(3):
            packer.add_bytes(os.urandom(900_000))
        assert list(tmp_path.glob("staged-*"))
    assert not list(tmp_path.glob("staged-*"))


def test_staged_bytes_in_memory_and_in_a_file(tmp_path: Path) -> None:
    for size in (10, 3_000_000):
        data = os.urandom(size)
        with Staged(tmp_path) as staged:
            for at in range(0, size, 70_000):
                staged.write(data[at : at + 70_000])
            assert staged.read() == b"".join(staged.chunks()) == data
            assert (staged.size, staged.sha256) == (size, hashlib.sha256(data).hexdigest())
            files = list(tmp_path.glob("staged-*"))
            assert len(files) == (size > 1_000_000)
            assert all(path.stat().st_mode & 0o077 == 0 for path in files)
        assert not list(tmp_path.glob("staged-*"))


def test_sweeping_spares_what_is_being_written(tmp_path: Path) -> None:
    with Staged(tmp_path, in_memory=0) as staged:
        staged.write(b"x")
        (tmp_path / "staged-left").write_bytes(b"y")
        assert sweep(tmp_path) == 1
        assert [path.name for path in tmp_path.iterdir()] != ["staged-left"]
        assert staged.read() == b"x"


def test_a_plan_of_many_jobs_is_small_and_named_by_its_content() -> None:
    def planned(change: int | None = None) -> Plan:
        plan = Plan("g")
        for n in range(20_000):
            digest = hashlib.sha256(b"%d" % (n if n != change else -1)).hexdigest()
            plan.add(f"job-{n}", Place("ab" * 32, n * 10, 10, digest), source=digest, document_bytes=100 + n)
        return plan

    plan = planned()
    assert plan.version == planned().version != planned(change=19_999).version
    assert plan.recorded == 20_000
    lines = [part for part in plan.rows() if isinstance(part, Frames)]
    assert (lines[7].place.offset, lines[7].plain_length) == (70, 106)
    held = sum(
        getattr(plan, name).__sizeof__()
        for name in ("_ids", "_ends", "_digests", "_sources", "_documents", "_offsets", "_stored", "_packs")
    )
    assert held * 0.9 < plan.held < 150 * 20_000
