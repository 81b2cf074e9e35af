"""Bodies made of pieces: both forms agree, any part is the slice of the whole, blobs are opened once a run, and damage never passes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from benchloop_client.contract.compression import BadFrames, decode, frame
from benchloop_server.adapters.blobs_local import LocalBlobs
from benchloop_server.adapters.blobs_object import ObjectBlobs
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.frame_walk import FrameWalk
from benchloop_server.kit.pieces import CHUNK, cut, joined, length_of, slices, stream
from benchloop_server.kit.segments import Frames, Segment, literal, plain_form, stored_form, total
from benchloop_server.kit.verified import DamagedBlob, Place


@dataclass
class Counted(ObjectBlobs):
    """Blobs in memory that count how often they are read."""

    reads: list[tuple[str, int, int | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(MemoryStore())

    def read(self, sha256: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        self.reads.append((sha256, offset, length))
        return super().read(sha256, offset=offset, length=length)


def packed(blobs: BlobStore, contents: list[bytes], gap: bytes = b"") -> list[Place]:
    """All contents in one blob, with the gap between them."""
    whole = gap.join(contents)
    name = hashlib.sha256(whole).hexdigest()
    blobs.put_bytes(name, whole)
    places, at = [], 0
    for content in contents:
        places.append(Place(name, at, len(content), hashlib.sha256(content).hexdigest()))
        at += len(content) + len(gap)
    return places


def segments(blobs: ObjectBlobs, bodies: list[bytes], packs: int) -> list[Segment]:
    """`[`, each body as frames and a comma behind it; the bodies lie in `packs` blobs in turn."""
    places: dict[int, Place] = {}
    for pack in range(packs):
        mine = range(pack, len(bodies), packs)
        places |= dict(zip(mine, packed(blobs, [frame(bodies[n]) for n in mine], gap=b"?"), strict=True))
    parts: list[Segment] = [literal(b"[")]
    for number, body in enumerate(bodies):
        parts += [Frames(places[number], len(body)), literal(b",")]
    return parts


@given(st.lists(st.binary(max_size=3000), max_size=6), st.integers(1, 3))
def test_both_forms_agree_and_have_the_announced_lengths(bodies: list[bytes], packs: int) -> None:
    blobs = Counted()
    parts = segments(blobs, bodies, packs)
    plain, stored = b"".join(stream(plain_form(parts), blobs)), b"".join(stream(stored_form(parts), blobs))
    assert plain == b"[" + b"".join(body + b"," for body in bodies)
    assert b"".join(decode([stored])) == plain
    assert total(parts) == (len(plain), len(stored))


@given(st.data())
def test_any_part_is_the_slice_of_the_whole(data: st.DataObject) -> None:
    blobs = Counted()
    parts = segments(blobs, data.draw(st.lists(st.binary(max_size=300), max_size=6)), data.draw(st.integers(1, 3)))
    for form in (plain_form, stored_form):
        whole = b"".join(stream(form(parts), blobs))
        start = data.draw(st.integers(0, len(whole)))
        stop = data.draw(st.integers(start, len(whole)))
        wanted = list(cut(form(parts), start, stop))
        assert sum(map(length_of, wanted)) == stop - start
        assert b"".join(stream(wanted, blobs)) == whole[start:stop]


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(0, 90), st.integers(0, 90), st.integers(1, 20))
def test_slices_and_joined_chunks(chunks: list[bytes], start: int, stop: int, size: int) -> None:
    whole = b"".join(chunks)
    assert b"".join(slices(chunks, start, stop)) == whole[start:stop]
    together = list(joined(chunks, size))
    assert b"".join(together) == whole
    assert all(len(chunk) >= size for chunk in together[:-1])


def test_neighbours_in_a_blob_are_read_in_one_go() -> None:
    blobs = Counted()
    contents = [b"%05d" % n * 1000 for n in range(2000)]
    places = packed(blobs, contents, gap=b"-" * 500)
    chunks = list(stream((piece for place in places for piece in (b"line", place)), blobs))
    assert b"".join(chunks) == b"".join(b"line" + content for content in contents)
    assert len(blobs.reads) == 2
    assert all(CHUNK <= len(chunk) < 2 * CHUNK for chunk in chunks[:-1])


def test_places_out_of_order_and_far_apart_are_read_by_themselves() -> None:
    blobs = Counted()
    places = packed(blobs, [b"a" * 10, b"b" * 10, b"c" * 500_000, b"d" * 10])
    wanted = [places[1], places[0], places[3], places[1], places[1], Place("0" * 64, 0, 0, hashlib.sha256().hexdigest())]
    assert b"".join(stream(wanted[:-1], blobs)) == b"b" * 10 + b"a" * 10 + b"d" * 10 + b"b" * 20
    assert len(blobs.reads) == 5


@pytest.mark.parametrize("size", [10, 3_000_000])
@pytest.mark.parametrize("at", [0, -1])
def test_the_last_bytes_of_a_damaged_place_never_go(size: int, at: int) -> None:
    blobs = Counted()
    good, bad = packed(blobs, [b"good" * 100_000, b"x" * size])
    wrong = Place(bad.blob, bad.offset + 1 if at == 0 else bad.offset - 1, bad.length - 1, bad.sha256)
    given_out = bytearray()
    with pytest.raises(DamagedBlob):
        for chunk in stream([good, b"line", wrong], blobs):
            given_out += chunk
    assert len(given_out) < good.length + 4 + wrong.length
    assert given_out.startswith(b"good" * 100_000)


@pytest.mark.parametrize("wrong", [Place("0" * 64, 0, 5, "0" * 64), None])
def test_a_missing_or_short_blob_is_damage(wrong: Place | None) -> None:
    blobs = Counted()
    (place,) = packed(blobs, [b"12345"])
    with pytest.raises(DamagedBlob):
        list(stream([wrong or Place(place.blob, 3, 5, place.sha256)], blobs))


def test_stored_bytes_of_another_length_break_the_plain_form() -> None:
    blobs = Counted()
    (place,) = packed(blobs, [frame(b"12345")])
    for length in (4, 6):
        with pytest.raises(BadFrames):
            list(stream(plain_form([Frames(place, length)]), blobs))


@given(st.lists(st.binary(max_size=400), max_size=6), st.integers(0, 2500), st.integers(0, 2500), st.integers(1, 60))
def test_only_the_needed_frames_are_passed_on(parts: list[bytes], start: int, stop: int, step: int) -> None:
    frames = [frame(part * repeat) for repeat, part in enumerate(parts)]
    sizes = [len(part) * repeat for repeat, part in enumerate(parts)]
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    wanted = [n for n, size in enumerate(sizes) if ends[n] - size < stop and ends[n] > start]
    stored = b"".join(frames)
    walk = FrameWalk(start, stop)
    passed = b"".join(walk.needed(stored[at : at + step] for at in range(0, len(stored), step)))
    assert passed == b"".join(frames[n] for n in wanted)
    assert not wanted or walk.first == ends[wanted[0]] - sizes[wanted[0]]


def test_frames_of_every_size_are_walked_through() -> None:
    for size in (0, 1, 255, 256, 257, 65_791, 65_792, 200_000, 1_000_000):
        for plain in (bytes(size), random.Random(size).randbytes(size)):
            stored = frame(plain)
            walk = FrameWalk(size, size + 1)
            assert b"".join(walk.needed([stored, frame(b"x"), stored])) == frame(b"x")
            assert walk.first == size
            for broken in (stored[:-1], stored + b"1234567", b"x" + stored):
                with pytest.raises(BadFrames):
                    list(FrameWalk(0, 1).needed([broken]))


def test_a_part_of_damaged_frames_never_ends() -> None:
    blobs = Counted()
    noise = random.Random(1).randbytes(300_000)
    frames = [frame(noise), frame(noise), frame(noise)]
    (place,) = packed(blobs, [b"".join(frames)])
    right = Frames(place, 900_000)
    assert b"".join(stream(cut([right], 300_005, 300_009), blobs)) == noise[5:9]
    wrong = Frames(place._replace(sha256="0" * 64), 900_000)
    with pytest.raises(DamagedBlob):
        list(stream(cut([wrong], 300_005, 300_009), blobs))


def test_what_is_held_at_once_is_small(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path)
    places = packed(blobs, [b"z" * 2_000_000] * 10)
    assert max(map(len, stream(places, blobs))) <= (1 << 20) + CHUNK
