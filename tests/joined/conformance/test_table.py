"""The table of statements and the tests belong together: no row without a test and an answer, no test without a row."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HERE = Path(__file__).parent
_VERDICTS: dict[str, set[str]] = {"same": set(), "better": {"how", "sees"}, "left out": {"how", "sees"}}
_KEYS = {"id", "says", "verdict", "tests"}


def rows() -> list[dict[str, Any]]:
    """Every row of every section."""
    return [row for path in sorted((_HERE / "statements").glob("*.toml")) for row in tomllib.loads(path.read_text("utf-8"))["row"]]


def written_in(folder: Path) -> set[str]:
    """Every test of the room as `file::name`, but for those of the table itself."""
    paths = [path for path in folder.glob("test_*.py") if path.name != Path(__file__).name]
    nodes = [(path.name, node) for path in paths for node in ast.parse(path.read_text("utf-8")).body]
    return {f"{name}::{node.name}" for name, node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def faults(table: Iterable[Mapping[str, Any]], tests: set[str]) -> list[str]:
    """Rows without a test, with one that is not there, or without an answer; ids that come twice; tests without a row."""
    table = list(table)
    found = []
    for row in table:
        keys = _KEYS | _VERDICTS.get(row["verdict"], set())
        if row["verdict"] not in _VERDICTS or row.keys() != keys or not all(row.values()):
            found.append(f"{row['id']}: {sorted(_KEYS)} are needed; what is not the same says `how`, and what a script `sees`")
        found += [f"{row['id']}: there is no {name}" for name in row["tests"] if name not in tests]
    ids = [row["id"] for row in table]
    found += [f"{name} stands twice" for name in sorted({name for name in ids if ids.count(name) > 1})]
    held = {name for row in table for name in row["tests"]}
    return found + [f"no row names {name}" for name in sorted(tests - held)]


def test_rows_and_tests_belong_together() -> None:
    assert faults(rows(), written_in(_HERE)) == []


def test_every_call_has_its_row() -> None:
    assert {row["id"] for row in rows() if row["id"].startswith("E")} == {f"E{number}" for number in range(1, 36)}


def test_every_section_has_rows() -> None:
    sections = {row["id"].partition(".")[0] for row in rows() if not row["id"].startswith("E")}
    assert sections == {str(number) for number in range(10, 19)}


def test_faults_are_found() -> None:
    good = {"id": "1", "says": "x", "verdict": "same", "tests": ["test_a.py::test_a"]}
    assert faults([good], {"test_a.py::test_a"}) == []
    assert len(faults([{**good, "tests": []}], set())) == 1
    assert len(faults([good], set())) == 1
    assert len(faults([good], {"test_a.py::test_a", "test_a.py::test_b"})) == 1
    assert len(faults([{**good, "verdict": "better"}], {"test_a.py::test_a"})) == 1
    assert len(faults([good, good], {"test_a.py::test_a"})) == 1
