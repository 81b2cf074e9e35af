"""One file over several connections: byte for byte the same, whoever of them breaks off, and gone on with where it stopped."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchloop_client.errors import NetworkError
from benchloop_client.transfer import ranges
from benchloop_client.transfer.files import Expect
from benchloop_client.transfer.ranges import Filling, Hole, holes_of
from benchloop_client.transfer.resume import Part, Parts

SIZE = 24 << 20
DATA = random.Random(7).randbytes(SIZE)
_PIECE = 1 << 18


class Line:
    """A server far away: each connection gets `pause` seconds a piece. `breaks`: bytes after which those from `bad` on break off."""

    def __init__(self, pause: float = 0.0, *, bad: int = 1 << 40, breaks: int = 0) -> None:
        self.pause, self.bad, self.breaks = pause, bad, breaks
        self.opened: list[tuple[int, int]] = []
        self.sent = 0
        self.most = self.now = 0
        self._lock = threading.Lock()

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes, until the connection breaks."""
        count = 0
        while start < end:
            if start >= self.bad and count >= self.breaks:
                raise NetworkError("broke", broken_body=True)
            piece = DATA[start : min(start + _PIECE, end)]
            time.sleep(self.pause)
            with self._lock:
                self.sent += len(piece)
            count += len(piece)
            start += len(piece)
            yield piece

    @contextmanager
    def open(self, start: int, end: int) -> Iterator[Iterator[bytes]]:
        """A further connection."""
        with self._lock:
            self.opened.append((start, end))
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            yield self.pieces(start, end)
        finally:
            with self._lock:
                self.now -= 1


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, so that a test need not last."""
    monkeypatch.setattr(ranges, "_LOOK", 0.05)
    monkeypatch.setattr(ranges, "_LEAST", 1 << 20)


def prepared(root: Path) -> Part:
    """A part with room for all of it."""
    part = Parts(root).open("s", "big")
    if not part.state.offset:
        part.begin(etag='"v"', total=SIZE)
    part.reserve(SIZE)
    return part


def filled(part: Part, line: Line, *, spare: int = 3) -> None:
    """Fill what the part lacks."""
    holes = holes_of(part, SIZE)
    Filling(part, SIZE, holes, line.open, spare=lambda: spare).run(line.pieces(holes[0].start, SIZE))


def finished(part: Part) -> None:
    """Check and name it."""
    placed = part.finish("big", expect=Expect(SIZE, hashlib.sha256(DATA).hexdigest()))
    assert placed.path.read_bytes() == DATA


def test_a_slow_line_is_used_several_times_at_once(tmp_path: Path) -> None:
    line = Line(0.01)
    with prepared(tmp_path) as part:
        filled(part, line)
        finished(part)
    assert 1 <= line.most <= ranges.MOST - 1
    assert line.sent < SIZE * 1.2


def test_nothing_is_added_where_nothing_is_to_spare(tmp_path: Path) -> None:
    line = Line(0.005)
    with prepared(tmp_path) as part:
        filled(part, line, spare=0)
        finished(part)
    assert line.opened == []


def test_a_quick_line_is_used_once(tmp_path: Path) -> None:
    line = Line()
    with prepared(tmp_path) as part:
        filled(part, line)
        finished(part)
    assert len(line.opened) <= 2


def test_it_is_noted_how_far_the_others_came_while_the_first_connection_rests(tmp_path: Path) -> None:
    line, noted = Line(0.01), 0
    with prepared(tmp_path) as part:

        def first() -> Iterator[bytes]:
            nonlocal noted
            for number, piece in enumerate(line.pieces(0, SIZE)):
                yield piece
                end = time.monotonic() + 10
                while number == 9 and line.sent < 20 << 20 and time.monotonic() < end:
                    time.sleep(0.01)
                noted = noted or (part.state.offset if number == 9 else 0)

        Filling(part, SIZE, holes_of(part, SIZE), line.open, spare=lambda: 3).run(first())
        finished(part)
    assert noted > 14 << 20


def test_row_12_a_range_that_breaks_for_ever_fails_the_file(tmp_path: Path) -> None:
    line = Line(0.01, bad=SIZE - (2 << 20))
    with pytest.raises(NetworkError), prepared(tmp_path) as part:
        filled(part, line)
    assert not (tmp_path / "big").exists()


def test_what_broke_off_has_only_its_holes_fetched(tmp_path: Path) -> None:
    with pytest.raises(NetworkError), prepared(tmp_path) as part:
        filled(part, Line(0.01, bad=SIZE // 2, breaks=3 << 20))
    again = Line()
    with prepared(tmp_path) as part:
        missing = sum(hole.size for hole in holes_of(part, SIZE))
        assert 0 < missing < SIZE
        filled(part, again)
        finished(part)
    assert again.sent <= missing + 4 * _PIECE


def test_a_helper_that_fails_leaves_its_range_to_the_first(tmp_path: Path) -> None:
    class Refusing(Line):
        @contextmanager
        def open(self, start: int, end: int) -> Iterator[Iterator[bytes]]:
            if threading.current_thread() is not threading.main_thread():
                raise NetworkError("no more connections")
            with super().open(start, end) as pieces:
                yield pieces

    line = Refusing(0.005)
    with prepared(tmp_path) as part:
        filled(part, line)
        finished(part)


def test_a_part_written_from_the_beginning_lacks_its_end(tmp_path: Path) -> None:
    with Parts(tmp_path).open("s", "big") as part:
        part.begin(etag='"v"', total=100)
        part.write(b"x" * 30)
        part.checkpoint(30, force=True)
        assert holes_of(part, 100) == [Hole(30, 100)]
        part.abandon()
