"""A table in plain text: looks at every row twice instead of keeping it, and shows the columns for which there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchloop_client.cli import tty

_GAP = "  "
#: The widest that a column gets on a terminal, and where there is none.
_WIDEST, _WIDEST_PIPED = 48, 200
#: Fewer columns than this are not worth a part of a longer text.
_USEFUL = 12
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of text that a terminal only shows; numbers stand to the right."""

    text: str
    number: bool = False

    @classmethod
    def of(cls, text: str, *, number: bool = False) -> Cell:
        """A cell of any text: what a terminal would act on is taken out, and what could not be shown is cut off."""
        return cls(tty.plain(text[: 4 * _WIDEST_PIPED]), number)


@dataclass(slots=True)
class _Column:
    name: str
    width: int = 0
    numbers: bool = True
    empty: bool = True

    def see(self, value: Cell) -> None:
        """Make room for a cell."""
        if value.text:
            self.width = max(self.width, tty.cells(value.text))
            self.numbers = self.numbers and value.number
            self.empty = False


class Table:
    """`rows` yields the cells of each row, from the beginning at each call. `left_out` names the columns without room, after `text`."""

    def __init__(
        self, names: Sequence[str], rows: Callable[[], Iterator[list[Cell]]], *, keep_all: bool = False, width: int | None = None
    ) -> None:
        """`keep_all` shows every column, narrower if need be; else empty ones, and those on the right without room, are left out."""
        self._names, self._rows = [tty.plain(name) for name in names], rows
        self._keep_all, self._width = keep_all, width
        self.left_out: list[str] = []

    def text(self, *, colour: bool = False) -> Iterator[bytes]:
        """Header and rows; nothing where there is no row."""
        columns = [_Column(name) for name in self._names]
        count = 0
        for row in self._rows():
            count += 1
            for column, value in zip(columns, row, strict=True):
                column.see(value)
        if not count:
            return
        shown = self._fitting(columns)
        header = _GAP.join(_padded(columns[index], Cell(columns[index].name)) for index in shown).rstrip()
        yield _encoded(f"{_BOLD}{header}{_PLAIN}" if colour else header)
        for row in self._rows():
            yield _encoded(_GAP.join(_padded(columns[index], row[index]) for index in shown).rstrip())

    def _fitting(self, columns: list[_Column]) -> list[int]:
        widest = _WIDEST if self._width is not None else _WIDEST_PIPED
        for column in columns:
            column.width = min(max(column.width, tty.cells(column.name)), widest)
        shown = [index for index, column in enumerate(columns) if self._keep_all or not column.empty]
        if self._width is None:
            return shown
        if self._keep_all:
            _narrow([columns[index] for index in shown], self._width)
            return shown
        fitting: list[int] = []
        room = self._width + len(_GAP)
        for index in shown:
            room -= len(_GAP)
            if columns[index].width > room and (room < _USEFUL and fitting):
                break
            columns[index].width = min(columns[index].width, room)
            room -= columns[index].width
            fitting.append(index)
        self.left_out = [columns[index].name for index in shown[len(fitting) :]]
        return fitting


def _total(columns: list[_Column]) -> int:
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _narrow(columns: list[_Column], width: int) -> None:
    """Take columns from the widest until all have room, or none can give any."""
    while columns and _total(columns) > width:
        widest = max(columns, key=lambda column: column.width)
        if widest.width <= 1:
            return
        widest.width -= 1


def _padded(column: _Column, value: Cell) -> str:
    text = tty.fitted(value.text, column.width)
    room = " " * (column.width - tty.cells(text))
    return room + text if column.numbers and not column.empty else text + room


def _encoded(line: str) -> bytes:
    return line.encode("utf-8", "replace") + b"\n"
