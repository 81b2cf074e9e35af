"""What happens while an action runs, as records; the action calls `watch(event)` and knows nothing of how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class CountStarted:
    """A counter begins: `label` names it, `total` is how many `unit` there will be (None: not known). `quiet` ones have no lines of their
    own: they are there for who draws where things stand.
    """

    label: str
    unit: str
    total: int | None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """A counter moved: `done` of `total` `unit`, `what` was just dealt with. `timed` ones show elapsed time and ETA."""

    label: str
    unit: str
    done: int
    total: int | None
    what: str
    timed: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes of one file arrived or left: `done` of `total` (None: not known)."""

    name: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Wrote:
    """A data file stands under its final name; `note` is shown in brackets."""

    path: Path
    note: str = ""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """An artifact stands under its final name."""

    path: Path


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of an earlier run was kept."""

    path: Path


@dataclass(frozen=True, slots=True)
class Filtered:
    """An artifact was left out by `--include` or `--exclude`."""

    name: str


@dataclass(frozen=True, slots=True)
class Archiving:
    """A ZIP file is being put together."""

    path: Path


@dataclass(frozen=True, slots=True)
class Noted:
    """Something worth telling."""

    text: str


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that is not a failure but should not go unseen."""

    text: str


@dataclass(frozen=True, slots=True)
class NullAnswer:
    """The server's answer for an id was null: the id has no element in the output, as documented."""

    item: str


@dataclass(frozen=True, slots=True)
class Traced:
    """Something only a person who looks for a fault wants to read."""

    text: str


Event: TypeAlias = (
    "CountStarted | Counted | Moved | Wrote | Downloaded | Skipped | Filtered | Archiving | Noted | Warned | NullAnswer | Traced"
)
Watch = Callable[[Event], None]


def unwatched(_event: Event) -> None:
    """The `watch` of a caller who does not look."""


class Counter:
    """A counter of things dealt with. Called by one thread at a time: pools report in the caller's thread."""

    def __init__(self, watch: Watch, label: str, unit: str, total: int | None, *, timed: bool = False, quiet: bool = False) -> None:
        self._watch = watch
        self._label, self._unit, self._total, self._timed, self._quiet = label, unit, total, timed, quiet
        self._done = 0
        watch(CountStarted(label, unit, total, quiet))

    def step(self, verb: str, detail: str, *, by: int = 1) -> None:
        """One more was dealt with, or several at once."""
        self._done += by
        self._watch(Counted(self._label, self._unit, self._done, self._total, f"{verb} {detail}", self._timed, self._quiet))

    def expect(self, total: int | None) -> None:
        """There will be so many: for a total that is known only later."""
        self._total = total

    def end(self, what: str) -> None:
        """There are no more: says so where the total was not known, or not true."""
        if self._total is None or (self._quiet and self._done != self._total):
            self._watch(Counted(self._label, self._unit, self._done, self._done, what, self._timed, self._quiet))
