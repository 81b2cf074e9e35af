"""Finding the zstd frames that a range of plain bytes lies in, by reading the heads of frames and blocks; nothing is decoded (RFC 8878)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchloop_client.contract.compression import BadFrames

_MAGIC = b"\x28\xb5\x2f\xfd"
_DICTIONARY = (0, 1, 2, 4)
_RLE = 1


class FrameWalk:
    """Walks through stored frames and passes on those that hold some of the plain bytes `start` to `stop` (not included).

    `first` is where in the plain bytes the first of these frames begins; it is known once something was passed on.
    """

    def __init__(self, start: int, stop: int) -> None:
        self._start, self._stop = start, stop
        self._buffer = bytearray()
        self._plain = 0
        self._in_frame = self._keep = self._sum = False
        self._left = 0
        self.first = 0

    def needed(self, stored: Iterable[bytes | memoryview]) -> Iterator[bytes]:
        """The needed frames. All of `stored` is read. Raises `BadFrames` for what are no frames of known size."""
        for chunk in stored:
            self._buffer += chunk
            yield from self._pass_on()
        if self._buffer or self._left or self._in_frame:
            raise BadFrames("the zstd data ends in the middle of a frame")

    def _pass_on(self) -> Iterator[bytes]:
        while self._left or self._next():
            part = bytes(self._buffer[: self._left])
            if not part:
                return
            del self._buffer[: len(part)]
            self._left -= len(part)
            if self._keep:
                yield part

    def _next(self) -> bool:
        """Look at the head of what comes next; False when it is not all there yet."""
        if not self._in_frame:
            return self._next_frame()
        if len(self._buffer) < 3:
            return False
        head = int.from_bytes(self._buffer[:3], "little")
        self._in_frame = not head & 1
        self._left = 3 + (1 if head >> 1 & 3 == _RLE else head >> 3) + (4 if head & 1 and self._sum else 0)
        return True

    def _next_frame(self) -> bool:
        if len(self._buffer) < 5:
            return False
        if self._buffer[:4] != _MAGIC:
            raise BadFrames("the zstd data is damaged: no frame begins where one should")
        descriptor = self._buffer[4]
        single, size_flag = descriptor >> 5 & 1, descriptor >> 6
        size_bytes = 1 << size_flag if size_flag else single
        at = 5 + (1 - single) + _DICTIONARY[descriptor & 3]
        if len(self._buffer) < at + size_bytes:
            return False
        if not size_bytes:
            raise BadFrames("a zstd frame does not say how many bytes it holds")
        size = int.from_bytes(self._buffer[at : at + size_bytes], "little") + (256 if size_bytes == 2 else 0)
        keep = self._plain < self._stop and self._plain + size > self._start
        if keep and not self._keep:
            self.first = self._plain
        self._keep = keep
        self._plain += size
        self._sum = bool(descriptor >> 2 & 1)
        self._left, self._in_frame = at + size_bytes, True
        return True
