"""In which phase of its work an agent was at each call: what a call is for depends on what was done before, not on the tool's name."""

from __future__ import annotations

from collections.abc import Iterable

from benchloop_analysis.records import Kind, Phase

_CHANGES = frozenset({"edit", "write", "delete"})
_LOOKS = frozenset({"read", "search", "list"})
_CHECKS = frozenset({"test", "build", "run"})


class Phases:
    """Follows one job. Before the first change everything that looks or runs explores; after it, running checks, and so does reading again
    what was changed; reading anything else explores again.
    """

    def __init__(self) -> None:
        self._changed: set[str] = set()
        self._any = False

    def of(self, kind: Kind, paths: Iterable[str] = (), writes: Iterable[str] = ()) -> Phase:
        """The phase of the next call."""
        if kind in _CHANGES:
            self._any = True
            self._changed.update(_name(path) for path in (*paths, *writes))
            return "I"
        if writes:
            self._any = True
            self._changed.update(map(_name, writes))
        if kind in _CHECKS:
            return "V" if self._any else "E"
        if kind in _LOOKS:
            return "V" if self._any and any(_name(path) in self._changed for path in paths) else "E"
        return "O"


def collapsed(phases: Iterable[Phase]) -> str:
    """The row of phases without repeats and without O."""
    row: list[str] = []
    for phase in phases:
        if phase != "O" and row[-1:] != [phase]:
            row.append(phase)
    return "".join(row)


def _name(path: str) -> str:
    """The last part: agents name one file in several ways, relative and absolute."""
    return path.rstrip("/").rpartition("/")[2]
