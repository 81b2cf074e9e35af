"""The frames in which a document arrived: those that are what would be stored need not be compressed again."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Of the byte after the magic number: whole content as window, checksum at the end, no dictionary. All stored frames are like this.
_MASK, _AS_STORED = 0x2F, 0x24
#: More frames than a document of the size that is looked at has, unless somebody cut it into crumbs.
_MOST = 4096


class Received:
    """`wire` is the document as it came, whole frames that were decoded to `plain` without an error."""

    def __init__(self, wire: bytes, plain: bytes) -> None:
        self._plain = plain
        self._frames: dict[int, tuple[int, bytes]] = {}
        offset = at = 0
        while at < len(wire) and len(self._frames) < _MOST:
            rest = memoryview(wire)[at:]
            size, length = zstd.get_frame_size(rest), _plain_length(rest)
            if length is None:
                return
            if wire[at + 4] & _MASK == _AS_STORED:
                self._frames[offset] = (length, wire[at : at + size])
            offset, at = offset + length, at + size

    def at(self, offset: int, plain: bytes) -> bytes | None:
        """The frame that holds just these plain bytes, at this place of the document; None where none came."""
        length, frame = self._frames.get(offset, (0, b""))
        return frame if length == len(plain) and self._plain[offset : offset + length] == plain else None


def _plain_length(frame: memoryview) -> int | None:
    """What the frame's head says; None: nothing."""
    return zstd.get_frame_info(frame).decompressed_size
