"""The bundle parser: any cutting of the body gives the same items, and a body that is no bundle is refused by the item's number."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_server.features.uploads.bundle import HEADER_LIMIT, BadBundle, Begin, Data, End, Parser


def item(body: bytes, **changes: object) -> bytes:
    """One item of a bundle; `changes` replace fields of its header."""
    header = {"kind": "archive", "sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "length": len(body), "encoding": None}
    return json.dumps({**header, **changes}).encode() + b"\n" + body


def parsed(pieces: list[bytes], max_items: int = 100) -> list[bytes]:
    """The bodies of the items of a bundle that arrives in these pieces."""
    parser, bodies = Parser(max_items=max_items), []
    for piece in pieces:
        for event in parser.feed(piece):
            if isinstance(event, Begin):
                bodies.append(b"")
                assert event.number == len(bodies)
            elif isinstance(event, Data):
                bodies[-1] += event.chunk
            else:
                assert isinstance(event, End)
    parser.finish()
    return bodies


@given(bodies=st.lists(st.binary(max_size=300), max_size=6), cuts=st.lists(st.integers(1, 90), min_size=1, max_size=20))
def test_any_cutting_gives_the_same_items(bodies: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(item(body) for body in bodies)
    pieces, at, turn = [], 0, 0
    while at < len(whole):
        pieces.append(whole[at : at + cuts[turn % len(cuts)]])
        at += cuts[turn % len(cuts)]
        turn += 1
    assert parsed(pieces) == bodies


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"x" * (HEADER_LIMIT + 1), "longer than"),
        (b"x" * (HEADER_LIMIT + 1) + b"\n", "longer than"),
        (b"{}\n", "item 1"),
        (b"\n", "item 1"),
        (b"[]\n", "item 1"),
        (b"\xff\xfe\n", "item 1"),
        (item(b"a") + item(b"b", kind="cookie"), "item 2"),
        (item(b"a", sha256="A" * 64), "SHA-256"),
        (item(b"a", sha256="../../etc/passwd"), "SHA-256"),
        (item(b"a", length=-1, size=-1), "negative"),
        (item(b"a", length=2), "not its size"),
        (item(b"a", encoding="zstd"), "only a trajectory"),
        (item(b"a", encoding="gzip"), "item 1"),
        (item(b"a", extra=1), "item 1"),
        (item(b"abc")[:-1], "1 bytes are missing"),
        (item(b"abc")[:20], "inside the header"),
        (item(b"") * 101, "more than 100"),
    ],
)
def test_what_is_no_bundle_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(BadBundle, match=words):
        parsed([body])


def test_a_header_without_end_is_refused_before_it_fills_memory() -> None:
    parser = Parser(max_items=5)
    with pytest.raises(BadBundle):
        for _ in range(HEADER_LIMIT + 1):
            list(parser.feed(b"x"))
