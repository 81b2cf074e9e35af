"""The page about the original client has an answer to every statement of the table."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT
from tests.joined.conformance.test_table import rows

PAGE = ROOT / "docs" / "reference" / "compatibility.md"


def _cells() -> dict[str, list[str]]:
    """Row id → its cells."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| (E|\d)", line)]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_every_statement_is_answered() -> None:
    found = _cells()
    assert list(found) == [row["id"] for row in rows()]
    assert [name for name, cells in found.items() if len(cells) != 3 or not all(cells)] == []


def test_what_is_better_says_what_a_script_sees() -> None:
    found = _cells()
    for row in rows():
        if row["verdict"] != "same":
            assert found[row["id"]][1].startswith(f"**{row['verdict']}**: ")
            assert found[row["id"]][2] != "the same"


def test_what_is_left_out_is_listed() -> None:
    assert "ap-cmd" in " ".join(_cells()["12.ap-cmd"])
    assert "**left out**" in _cells()["12.ap-cmd"][1]
