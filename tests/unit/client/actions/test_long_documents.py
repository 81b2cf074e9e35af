"""The document of one job is laid out while it arrives, however long it is."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

import pytest

from benchloop_client.actions import trajectory
from benchloop_client.actions.layout import Layout
from benchloop_client.errors import ApiError, IntegrityError

_STEP = {"step_id": 1, "source": "agent", "message": 'a "quoted" line\n' * 20 + "x" * 68_000}


def document(steps: int) -> Iterator[bytes]:
    """A compact document of some 68 kB a step, in pieces that cut through everything."""
    yield b'{"schema_version":"ATIF-v1.8","steps":['
    text = json.dumps(_STEP, separators=(",", ":")).encode()
    for number in range(steps):
        yield (b"," if number else b"") + text[:777]
        yield text[777:]
    yield b"]}"


@pytest.mark.parametrize("steps", [1, 200])
def test_a_long_document_looks_as_a_short_one_does(steps: int) -> None:
    whole = b"".join(document(steps))
    for layout in (Layout(), Layout(pretty=False)):
        assert b"".join(trajectory._laid_out(document(steps), "J1", layout)) == layout.text(whole) + b"\n"


def test_row_30_memory_does_not_grow_with_the_document() -> None:
    tracemalloc.start()
    try:
        written = sum(len(chunk) for chunk in trajectory._laid_out(document(1000), "J1", Layout()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert written > 60_000_000
    assert peak < 40_000_000


def test_a_long_document_without_its_end_is_refused() -> None:
    with pytest.raises(IntegrityError):
        b"".join(trajectory._laid_out(list(document(200))[:-1], "J1", Layout()))


def test_null_is_no_document() -> None:
    with pytest.raises(ApiError):
        b"".join(trajectory._laid_out([b"null"], "J1", Layout()))
