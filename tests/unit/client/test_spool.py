"""The spool of packed bytes, shared by many threads."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchloop_client.actions.spool import Spool


@pytest.fixture
def _eager_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_eager_threads")
def test_each_slice_is_what_was_put_in() -> None:
    """Threads put files and bytes in at the same time: no slice reaches into another's (once, lengths were read outside the lock)."""
    contents = [bytes([number % 251]) * (300_000 + number % 7) for number in range(200)]
    with Spool() as spool, ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda data: spool.take(io.BytesIO(data)), contents))
        added = list(pool.map(spool.add, contents))
        for slices in (taken, added):
            assert [piece.length for piece in slices] == [len(data) for data in contents]
            assert [b"".join(spool.read(piece)) for piece in slices] == contents
