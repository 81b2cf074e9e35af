"""The arithmetic of the benchmarks and their table: ratios of pairs, medians, spread, targets. Nothing is measured here."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Unit = Literal["x", "MB"]
Column = Literal["wall", "CPU", "client", "server"]
COLUMNS: tuple[Column, ...] = ("wall", "CPU", "client", "server")
_HEADINGS = ("case", "ours", "against", "wall", "CPU", "client memory", "server memory", "")
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a command: seconds on the clock, seconds of CPU with its children, peak resident bytes of all its processes together;
    `server_cpu` and `server_peak` are what the server took meanwhile.
    """

    wall: float
    cpu: float = 0.0
    peak: int = 0
    server_cpu: float = 0.0
    server_peak: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """A number beside its target: median, smallest and largest; `limit` None: nothing was promised."""

    value: float
    low: float
    high: float
    unit: Unit
    limit: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the median keeps the target; None without one."""
        return None if self.limit is None else self.value <= self.limit

    def __str__(self) -> str:
        number = f"{self.value:.2f}" if self.unit == "x" else f"{self.value:.0f}"
        low, high = _short(self.low, self.unit), _short(self.high, self.unit)
        spread = "" if low == high else f" ({low}–{high})"
        target = "" if self.limit is None else f", ≤ {self.limit:g}{'' if self.met else ' MISSED'}"
        return f"{number} {'×' if self.unit == 'x' else 'MB'}{spread}{target}"


@dataclass(frozen=True, slots=True)
class Targets:
    """The largest allowed values; None: not promised. Ratios for `wall` and `cpu`, MB for `client` and `server`."""

    wall: float | None = None
    cpu: float | None = None
    client: float | None = None
    server: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. `reason` says why there is none, or something the reader has to know of it."""

    case: str
    ours: str
    against: str
    cells: dict[Column, Cell] = field(default_factory=dict)
    reason: str = ""
    samples: dict[str, tuple[Sample, ...]] = field(default_factory=dict)

    @property
    def missed(self) -> bool:
        """Whether a target is missed."""
        return any(cell.met is False for cell in self.cells.values())

    def as_json(self) -> dict[str, Any]:
        """Everything about the row, for a file."""
        cells = {name: {**asdict(cell), "met": cell.met} for name, cell in self.cells.items()}
        samples = {name: [asdict(sample) for sample in several] for name, several in self.samples.items()}
        return {"case": self.case, "ours": self.ours, "against": self.against, "cells": cells, "reason": self.reason, "samples": samples}


#: What ours took in each round, and what theirs took.
Sides: TypeAlias = tuple[Sequence[Sample], Sequence[Sample]]


def ratio(ours: Sequence[float], theirs: Sequence[float], limit: float | None = None) -> Cell:
    """Round by round ours ÷ theirs, because what else the machine did hit both halves of a round alike; median, smallest, largest.

    Raises `ValueError` when there are no pairs or their numbers differ.
    """
    if not ours or len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} measurements against {len(theirs)}")
    quotients = [mine / max(other, 1e-9) for mine, other in zip(ours, theirs, strict=True)]
    return Cell(statistics.median(quotients), min(quotients), max(quotients), "x", limit)


def megabytes(peaks: Iterable[int], limit: float | None = None) -> Cell:
    """The largest of several peaks: memory is a promise about each run."""
    values = [peak / MB for peak in peaks]
    return Cell(max(values), min(values), max(values), "MB", limit)


def compared(case: str, name: str, against: str, sides: Sides, targets: Targets) -> Row:
    """The row of a comparison; CPU is compared where the other side has any."""
    ours, theirs = sides
    cells: dict[Column, Cell] = {"wall": ratio([one.wall for one in ours], [one.wall for one in theirs], targets.wall)}
    if all(one.cpu for one in theirs):
        cells["CPU"] = ratio([one.cpu for one in ours], [one.cpu for one in theirs], targets.cpu)
    cells |= memory(ours, targets)
    return Row(case, name, against, cells, seconds(ours, theirs), {"ours": tuple(ours), "theirs": tuple(theirs)})


def memory(ours: Sequence[Sample], targets: Targets) -> dict[Column, Cell]:
    """The two cells of memory."""
    cells: dict[Column, Cell] = {"client": megabytes((one.peak for one in ours), targets.client)}
    if any(one.server_peak for one in ours):
        cells["server"] = megabytes((one.server_peak for one in ours), targets.server)
    return cells


def seconds(ours: Sequence[Sample], theirs: Sequence[Sample]) -> str:
    """The medians behind a ratio."""
    parts = [f"{statistics.median([one.wall for one in side]):.2f} s" for side in (ours, theirs)]
    return " : ".join(parts)


def table(rows: Iterable[Row]) -> str:
    """All rows as a Markdown table, columns in line."""
    lines = [_HEADINGS, *(_line(row) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(_HEADINGS))]
    ruled = [lines[0], tuple("-" * width for width in widths), *lines[1:]]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in ruled)


def _line(row: Row) -> tuple[str, ...]:
    cells = tuple(str(row.cells[name]) if name in row.cells else "" for name in COLUMNS)
    return (row.case, row.ours, row.against, *cells, row.reason)


def _short(value: float, unit: Unit) -> str:
    return f"{value:.2f}" if unit == "x" else f"{value:.0f}"
