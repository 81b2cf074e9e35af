"""A log cut for searching by lines: very long lines are shortened, and places found in the short text are told in the whole one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from benchloop_analysis import literals

#: A line is searched up to here: no pattern has to walk along a line of a million characters.
LONGEST = 2_000


class Searchable:
    """`short` is what is searched; `place` turns a place in it into the place in the whole text."""

    def __init__(self, text: str) -> None:
        self._starts, self._left_out = [0], [0]
        self.short = text if len(text) <= LONGEST else "\n".join(self._shortened(text))

    @cached_property
    def lower(self) -> str:
        """`short` for `literals.possible`."""
        return literals.lowered(self.short)

    def _shortened(self, text: str) -> Iterator[str]:
        at = 0
        for line in text.split("\n"):
            if len(line) <= LONGEST:
                at += len(line) + 1
                yield line
                continue
            self._starts.append(at + LONGEST)
            at += LONGEST + 1
            self._left_out.append(self._left_out[-1] + len(line) - LONGEST)
            yield line[:LONGEST]

    def place(self, at: int) -> int:
        """Where the character at `at` of `short` stands in the whole text."""
        return at + self._left_out[bisect_right(self._starts, at) - 1]
