"""The items of a bulk body, whatever chunks they arrive in, and bodies that do not add up."""

from __future__ import annotations

import hashlib
import itertools
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.errors import IntegrityError
from benchloop_client.transfer.bundle import HEADER_LIMIT, WHOLE_LIMIT, items

_PAYLOADS = st.lists(st.binary(max_size=300), max_size=6)


def header(payload: bytes, job_id: str = "J", **changes: Any) -> bytes:
    """The line of an item."""
    digest = hashlib.sha256(payload).hexdigest()
    line = {"job_id": job_id, "kind": "artifact", "length": len(payload), "size": len(payload), "encoding": None, "sha256": digest}
    return json.dumps({**line, **changes}).encode() + b"\n"


def body(payloads: list[bytes]) -> bytes:
    """A body of jobs J0, J1, …."""
    return b"".join(header(payload, f"J{number}") + payload for number, payload in enumerate(payloads))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """`data` in pieces."""
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(ends)] or [data]


@settings(deadline=None)
@given(payloads=_PAYLOADS, places=st.lists(st.integers(0, 4000), max_size=40))
def test_any_chunks_give_the_same_items(payloads: list[bytes], places: list[int]) -> None:
    data = body(payloads)
    found = [(item.header.job_id, item.read(), item.end) for item in items(cut(data, places))]
    assert [(job, payload) for job, payload, _ in found] == [(f"J{n}", payload) for n, payload in enumerate(payloads)]
    assert [end for *_, end in found][-1:] == ([len(data)] if payloads else [])


@settings(deadline=None)
@given(payloads=_PAYLOADS, places=st.lists(st.integers(0, 4000), max_size=40), taken=st.lists(st.booleans(), min_size=6, max_size=6))
def test_pieces_are_the_payload_and_what_is_not_taken_is_skipped(payloads: list[bytes], places: list[int], taken: list[bool]) -> None:
    for item in items(cut(body(payloads), places)):
        number = int(item.header.job_id[1:])
        assert not taken[number] or b"".join(item.chunks()) == payloads[number]


@settings(deadline=None)
@given(payloads=_PAYLOADS.filter(bool), at=st.integers(0, 5), places=st.lists(st.integers(0, 4000), max_size=10))
def test_the_end_of_any_item_is_a_place_to_go_on_from(payloads: list[bytes], at: int, places: list[int]) -> None:
    data = body(payloads)
    ends = [item.end for item in items([data])]
    at %= len(ends)
    rest = [(item.header.job_id, item.offset, item.end) for item in items(cut(data[ends[at] :], places), start=ends[at])]
    assert rest == [(item.header.job_id, item.offset, item.end) for item in items([data])][at + 1 :]


@settings(deadline=None)
@given(payloads=_PAYLOADS.filter(bool), at=st.integers(0, 4000))
def test_a_body_that_is_cut_never_passes_as_whole(payloads: list[bytes], at: int) -> None:
    data = body(payloads)
    at %= len(data)
    ends = [0, *(item.end for item in items([data]))]
    if at in ends:
        assert len(list(items([data[:at]]))) == ends.index(at)
        return
    with pytest.raises(IntegrityError, match=r"breaks off"):
        list(items([data[:at]]))


@settings(deadline=None)
@given(payloads=_PAYLOADS.filter(bool), at=st.integers(0, 4000), bit=st.integers(0, 7))
def test_a_flipped_bit_in_a_payload_is_found(payloads: list[bytes], at: int, bit: int) -> None:
    payloads = [payload or b"x" for payload in payloads]
    data = bytearray(body(payloads))
    target = list(items([bytes(data)]))[at % len(payloads)]
    data[target.end - 1] ^= 1 << bit
    with pytest.raises(IntegrityError, match=f"artifact of {target.header.job_id} does not match"):
        for item in items([bytes(data)]):
            item.read()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"x" * (HEADER_LIMIT + 2), "a line of more than"),
        (b'{"job_id": "' + b"x" * HEADER_LIMIT + b'"}\n', "a line of more than"),
        (b"not json\n", "a line that does not describe it"),
        (b"[]\n", "a line that does not describe it"),
        (b'{"job_id": "J1"}\n', "a line that does not describe it"),
        (b"\xff\xfe\n", "a line that does not describe it"),
        (header(b"", "J1", length=-1), "artifact of J1.* a length that cannot be"),
        (header(b"", "J1", length=1 << 60), "artifact of J1.* a length that cannot be"),
        (header(b"", "J1", size=-5), "artifact of J1.* a length that cannot be"),
        (header(b"", "J1", length=1 << 40), "artifact of J1 breaks off: 0 of 1099511627776"),
        (header(b"", "J1", length=5, sha256=""), "artifact of J1.* without its SHA-256"),
        (header(b"abc", "J1")[:-1], "breaks off in its line"),
    ],
)
def test_a_hostile_line_is_refused_and_says_where(line: bytes, text: str) -> None:
    good = header(b"fine", "J0") + b"fine"
    with pytest.raises(IntegrityError, match=text) as caught:
        list(items([good + line]))
    assert "J1" in str(caught.value) or f"byte {len(good)} of the stream (after the artifact of J0)" in str(caught.value)


def test_an_endless_line_is_not_read_to_its_end() -> None:
    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"x" * 4096

    with pytest.raises(IntegrityError, match="more than"):
        list(items(endless()))
    assert read < 20


def test_a_payload_left_in_the_middle_is_noticed() -> None:
    with pytest.raises(IntegrityError, match="artifact of J0 was left in the middle"):
        for item in items(cut(body([b"a" * 100]), [150, 170, 220])):
            next(item.chunks())


def test_a_large_item_takes_no_memory() -> None:
    piece, count = b"z" * (1 << 20), 64
    digest = hashlib.sha256()
    for _ in range(count):
        digest.update(piece)
    line = header(b"", length=count << 20, size=count << 20, sha256=digest.hexdigest())
    tracemalloc.start()
    try:
        for item in items(part for part in [line, *[piece] * count]):
            assert item.header.length > WHOLE_LIMIT
            assert sum(len(part) for part in item.chunks()) == count << 20
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
