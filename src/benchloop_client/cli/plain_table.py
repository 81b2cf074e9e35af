"""A small table for the terminal, without a terminal library: columns as wide as their widest cell, the last one as long as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchloop_client.errors import one_line

_CELL = 200


def rows_as_text(rows: Iterable[Sequence[object]], heading: Sequence[str] = ()) -> str:
    """Lines of cells, two spaces apart; each cell is one printable line. The `heading` stands on top where there is one."""
    lines = [[one_line(str(cell), _CELL) for cell in row] for row in ([heading] if heading else [])] + [
        [one_line(str(cell), _CELL) for cell in row] for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))] if lines else []
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines)
