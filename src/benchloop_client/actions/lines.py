"""Lines of a stream of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream without their ends, blank ones left out; holds one line at a time."""
    pending: list[bytes] = []
    for chunk in chunks:
        head, *rest = chunk.split(b"\n")
        pending.append(head)
        for piece in rest:
            line = b"".join(pending)
            pending = [piece]
            if line.strip():
                yield line
    line = b"".join(pending)
    if line.strip():
        yield line
