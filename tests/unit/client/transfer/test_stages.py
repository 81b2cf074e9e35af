"""Steps of a stream in threads of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from benchloop_client.transfer.stages import DEPTH, ahead


def test_a_chain_gives_what_it_would_give_without_threads() -> None:
    assert list(ahead(n * n for n in ahead(iter(range(500))))) == [n * n for n in range(500)]


def test_an_error_comes_after_what_came_before_it() -> None:
    def failing() -> Iterator[int]:
        yield from (1, 2)
        raise KeyError("x")

    got = []
    with pytest.raises(KeyError):
        for n in ahead(n for n in ahead(failing())):
            got.append(n)
    assert got == [1, 2]


def test_never_more_than_a_few_ahead() -> None:
    drawn = []

    def counting() -> Iterator[int]:
        for n in range(100):
            drawn.append(n)
            yield n

    pieces = ahead(counting())
    next(pieces)
    time.sleep(0.2)
    assert len(drawn) <= DEPTH + 2
    pieces.close()  # type: ignore[attr-defined]


def test_left_early_every_step_is_closed_in_its_thread() -> None:
    closed: list[str] = []

    def source() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(threading.current_thread().name)

    pieces = ahead(n for n in ahead(source()))
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 5
    while not closed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert closed == ["benchloop-ahead"]
