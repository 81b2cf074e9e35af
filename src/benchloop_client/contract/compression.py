"""Zstandard as both sides use it: frames with a content checksum, and a decoder that is bounded in memory, output and window."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Level of everything the product compresses itself.
LEVEL = 3
#: A decoder hands out at most this many plain bytes at a time.
PLAIN_CHUNK = 1 << 18
#: A frame that needs a larger window (log2 bytes) than this is refused: its decoder would take that much memory.
WINDOW_LOG = 27

_PIECE = 1 << 15
#: Whole frames are taken one by one up to this many: what follows a frame is copied, which would be quadratic over many tiny ones.
_FEW_FRAMES = 64
_OPTIONS: dict[int, int] = {zstd.CompressionParameter.compression_level: LEVEL, zstd.CompressionParameter.checksum_flag: 1}


class BadFrames(ValueError):
    """Bytes that are not whole, undamaged zstd frames; the message says how."""


class TooMuch(BadFrames):
    """Frames that hold more plain bytes than the reader allows."""


def frame(plain: bytes) -> bytes:
    """`plain` as one zstd frame with its length in the head and a checksum at the end; frames one after another are again valid zstd."""
    return zstd.compress(plain, options=_OPTIONS)


def unpacked(data: bytes, size: int) -> list[bytes]:
    """The plain bytes of a few whole frames that are in memory, in pieces that are `size` bytes together. Raises `BadFrames` for damage and
    any other size.
    """
    pieces: list[bytes] = []
    left = size
    for _ in range(_FEW_FRAMES):
        if not data:
            break
        inner = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
        try:
            pieces.append(inner.decompress(data, left + 1))
        except zstd.ZstdError as error:
            raise BadFrames(f"the zstd data is damaged: {error}") from error
        left -= len(pieces[-1])
        if left < 0:
            raise TooMuch(f"the zstd data holds more than {size} bytes")
        if not inner.eof:
            raise BadFrames("the zstd data ends in the middle of a frame")
        data = inner.unused_data
    if data:
        pieces += decode([data], limit=left)
        left = size - sum(map(len, pieces))
    if left:
        raise BadFrames(f"the zstd data holds {size - left} bytes instead of {size}")
    return pieces


class Decoder:
    """Turns frames, fed in pieces of any size, into plain bytes. One object decodes one stream."""

    def __init__(self, *, limit: int | None = None, window_log: int = WINDOW_LOG) -> None:
        self._options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: window_log}
        self._limit = limit
        self._inner: zstd.ZstdDecompressor | None = None
        self.plain_length = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Plain chunks (each at most `PLAIN_CHUNK` bytes) of `data`; raises `BadFrames` for damage, `TooMuch` beyond the limit."""
        # Small pieces: the library copies what follows a frame, which would be quadratic over many tiny frames.
        for start in range(0, len(data), _PIECE):
            yield from self._piece(data[start : start + _PIECE])

    def finish(self) -> None:
        """Raise `BadFrames` if the last frame is not complete."""
        if self._inner is not None:
            raise BadFrames("the zstd data ends in the middle of a frame")

    def _piece(self, data: bytes) -> Iterator[bytes]:
        while data or self._inner is not None:
            inner = self._inner = self._inner or zstd.ZstdDecompressor(options=self._options)
            try:
                plain = inner.decompress(data, PLAIN_CHUNK)
            except zstd.ZstdError as error:
                raise BadFrames(f"the zstd data is damaged: {error}") from error
            if plain:
                yield self._counted(plain)
            data = b""
            if inner.eof:
                data, self._inner = inner.unused_data, None
            elif inner.needs_input:
                return

    def _counted(self, plain: bytes) -> bytes:
        self.plain_length += len(plain)
        if self._limit is not None and self.plain_length > self._limit:
            raise TooMuch(f"the zstd data holds more than {self._limit} bytes")
        return plain


def decode(chunks: Iterable[bytes], *, limit: int | None = None) -> Iterator[bytes]:
    """The plain bytes of a whole stream of frames, in constant memory; raises `BadFrames` when it is damaged or cut."""
    decoder = Decoder(limit=limit)
    for chunk in chunks:
        yield from decoder.feed(chunk)
    decoder.finish()
