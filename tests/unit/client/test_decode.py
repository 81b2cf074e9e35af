"""Content codings undone piece by piece, however the pieces fall."""

from __future__ import annotations

import gzip
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client._decode import Undecodable, decoded, parse_json

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESS = {"gzip": gzip.compress, "zstd": zstd.compress}
PARTS = st.lists(st.one_of(st.binary(max_size=300), st.integers(0, 3_000_000).map(bytes)), min_size=1, max_size=4)


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@given(parts=PARTS, size=st.sampled_from([1, 7, 1000, 1 << 20]))
@settings(max_examples=40, deadline=None)
def test_frames_in_any_pieces(coding: str, parts: list[bytes], size: int) -> None:
    wire = b"".join(COMPRESS[coding](part) for part in parts)
    assert b"".join(decoded(pieces(wire, size), coding)) == b"".join(parts)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_cut_is_always_noticed(coding: str, data: st.DataObject) -> None:
    whole = COMPRESS[coding](data.draw(st.binary(max_size=500)))
    cut = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(Undecodable):
        list(decoded([whole[:cut]], coding))


def test_pieces_stay_small_however_well_they_were_packed() -> None:
    wire = zstd.compress(bytes(50_000_000))
    sizes = [len(piece) for piece in decoded([wire], "zstd")]
    assert sum(sizes) == 50_000_000 and max(sizes) <= 1 << 20


def test_padding_after_gzip_is_ignored() -> None:
    assert b"".join(decoded([gzip.compress(b"x"), bytes(100), gzip.compress(b"y")], "gzip")) == b"xy"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_damage_is_noticed(coding: str) -> None:
    whole = {**COMPRESS, "deflate": zlib.compress}[coding](b"hello" * 1000)
    with pytest.raises(Undecodable):
        list(decoded([whole[:10] + b"\xff\xff" + whole[12:]], coding))


def test_nothing_is_none() -> None:
    assert parse_json(b"") is None and parse_json(b" \n") is None and parse_json(b"null") is None


def test_reasons_are_short_and_quote_nothing() -> None:
    with pytest.raises(ValueError, match=r"^not JSON at byte 5$"):
        parse_json(b'{"a":secret}')
    with pytest.raises(ValueError, match="UTF-8"):
        parse_json(b'"\xff"')
    with pytest.raises(ValueError, match="too long"):
        parse_json(b"1" * 10_000)
