"""One large file over several connections at once: the ranges that are still missing are shared out, and shared anew as some finish."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from benchloop_client.errors import BenchloopError, NetworkError
from benchloop_client.transfer.resume import Part

#: From this size on a file may be worth several connections.
LARGE = 32 << 20
#: No range is made smaller than this by sharing it.
_LEAST = 4 << 20
#: How often it is looked at whether another connection pays, and by how much it must.
_LOOK, _PAYS = 1.0, 1.2
_WAIT = 0.02
MOST = 4

Pieces = Iterable["bytes | memoryview"]
#: Opens the bytes from the first number up to (not including) the second, of the version that the part has.
OpenRange = Callable[[int, int], "AbstractContextManager[Pieces]"]


@dataclass
class Hole:
    """Bytes `start` up to `end` that are missing; whoever fills it moves `start` on, and others may move `end` closer."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """How many are missing."""
        return self.end - self.start


class Filling:
    """Fills the holes of `part`, which has room for `total` bytes; `spare` says how many more connections may be used now.

    The thread that runs it reads `first`, the bytes from the start of the first hole on; another connection is added each second as long as
    that makes the whole faster.
    """

    def __init__(self, part: Part, total: int, holes: list[Hole], open_range: OpenRange, *, spare: Callable[[], int]) -> None:
        self._part, self._total = part, total
        self._open, self._spare = open_range, spare
        self._lock, self._marking = threading.Lock(), threading.Lock()
        self._active: list[Hole] = []
        self._waiting = sorted(holes, key=lambda hole: hole.start)
        self._helpers: list[threading.Thread] = []
        self._done = total - sum(hole.size for hole in holes)
        self._looked_at, self._done_then, self._rate_then = time.monotonic(), self._done, 0.0
        self._grows = True
        self._over = False

    def run(self, first: Pieces) -> None:
        """Fill everything, and take what was written into the digest of the part. Raises what reading and writing raise; what arrived is in
        the checkpoint then.
        """
        try:
            self._fill_all(first)
        finally:
            self._over = True
            for helper in self._helpers:
                helper.join()
            self._mark(force=True)
        if self._missing():
            raise NetworkError("a part of the file did not come", broken_body=True)
        self._part.hash_rest()

    def _fill_all(self, first: Pieces) -> None:
        hole = self._next()
        if hole is not None:
            self._fill(hole, first, leads=True)
        while (hole := self._next()) is not None or self._active:
            if hole is None:
                time.sleep(_WAIT)
                continue
            self._fill_from(hole, leads=True)

    def _fill(self, hole: Hole, pieces: Pieces, *, leads: bool = False) -> None:
        """Write `pieces` into the hole until it is full, or give the rest back."""
        try:
            for piece in pieces:
                with self._lock:
                    room = hole.size
                if room > 0:
                    self._write(hole, piece if len(piece) <= room else memoryview(piece)[:room], hashes=leads)
                if hole.size <= 0 or self._over:
                    return
                # Each of them: where the connection of the one that leads rests, the others must not work for nothing.
                self._mark()
                if leads:
                    self._look()
        finally:
            self._give_back(hole)

    def _write(self, hole: Hole, piece: bytes | memoryview, *, hashes: bool) -> None:
        self._part.write_at(piece, hole.start, hashes=hashes)
        with self._lock:
            hole.start += len(piece)
            self._done += len(piece)

    def _next(self) -> Hole | None:
        """A hole for whoever has nothing to do: one that waits, else the second half of the largest."""
        with self._lock:
            if self._waiting:
                hole = self._waiting.pop(0)
            else:
                largest = max(self._active, key=lambda active: active.size, default=None)
                if largest is None or largest.size < 2 * _LEAST:
                    return None
                middle = largest.start + largest.size // 2
                hole, largest.end = Hole(middle, largest.end), middle
            self._active.append(hole)
            return hole

    def _look(self) -> None:
        """Now and then: has the last connection made it faster? Then one more."""
        now = time.monotonic()
        if not self._grows or now - self._looked_at < _LOOK:
            return
        rate = (self._done - self._done_then) / (now - self._looked_at)
        self._grows = len(self._helpers) + 1 < MOST and rate >= self._rate_then * (_PAYS if self._helpers else 1)
        self._looked_at, self._done_then, self._rate_then = now, self._done, rate
        if self._grows and self._spare() > 0 and self._total - self._done > 2 * _LEAST:
            helper = threading.Thread(target=self._help, name="benchloop-range", daemon=True)
            self._helpers.append(helper)
            helper.start()

    def _help(self) -> None:
        try:
            while not self._over and (hole := self._next()) is not None:
                self._fill_from(hole)
        except BenchloopError:
            # What it had taken waits again, for the thread that leads: that fails in the same way if it has to.
            self._grows = False

    def _fill_from(self, hole: Hole, *, leads: bool = False) -> None:
        try:
            with self._open(hole.start, hole.end) as pieces:
                self._fill(hole, pieces, leads=leads)
        finally:
            self._give_back(hole)

    def _give_back(self, hole: Hole) -> None:
        """What was not filled waits for another; nothing happens for a hole that was given back before."""
        with self._lock:
            if any(active is hole for active in self._active):
                self._active.remove(hole)
                if hole.size > 0:
                    self._waiting.insert(0, hole)

    def _missing(self) -> list[Hole]:
        return [hole for hole in (*self._active, *self._waiting) if hole.size > 0]

    def _mark(self, *, force: bool = False) -> None:
        if not self._marking.acquire(blocking=force):
            return
        try:
            with self._lock:
                holes = [[hole.start, hole.end] for hole in sorted(self._missing(), key=lambda hole: hole.start)]
                done = self._total - sum(end - start for start, end in holes)
            if done:
                self._part.checkpoint(done, note={"holes": holes}, force=force)
        finally:
            self._marking.release()


def holes_of(part: Part, total: int) -> list[Hole]:
    """What a part lacks, by its last checkpoint. One that was written from the beginning on lacks its end."""
    note = part.state.note
    if isinstance(note, dict) and isinstance(note.get("holes"), list):
        return [Hole(int(start), int(end)) for start, end in note["holes"] if start < end]
    return [Hole(part.state.offset, total)] if part.state.offset < total else []
