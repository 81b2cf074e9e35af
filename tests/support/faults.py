"""Shows that the weakness tests bite: `python -m tests.support.faults PROGRAM` runs them against another client and prints a table.

PROGRAM is a `bl` that has the faults, such as the original 0.2.23. A row counts the tests of one fault, and how many of them fail on it;
those that pass there are listed, because their docstrings must name the variant on which they fail.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_NAMED = re.compile(r"^def (test_[a-d]\d+_\w+)", re.MULTILINE)
_LINE = re.compile(r"^(PASSED|FAILED|ERROR) \S+::(test_([a-d]\d+)_\S+)", re.MULTILINE)


def named() -> list[str]:
    """Every test that is named after a fault, as pytest takes it."""
    files = sorted((_ROOT / "tests" / "e2e").glob("test_*.py"))
    return [f"{file.relative_to(_ROOT)}::{name}" for file in files for name in _NAMED.findall(file.read_text("utf-8"))]


def outcomes(program: str) -> list[tuple[str, str, str]]:
    """Fault, test and outcome of every weakness test, run against `program`."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--tb=no", "-rpfE", "--timeout", "90", *named()]
    done = subprocess.run(
        command, cwd=_ROOT, env={**os.environ, "BENCHLOOP_TEST_BL": program}, capture_output=True, text=True, timeout=3000
    )
    return [(found[3].upper(), found[2], found[1]) for found in _LINE.finditer(done.stdout)]


def table(rows: list[tuple[str, str, str]]) -> str:
    """The rows as Markdown."""
    tests, failing = Counter(fault for fault, _, _ in rows), Counter(fault for fault, _, how in rows if how != "PASSED")
    order = sorted(tests, key=lambda fault: (fault[0], int(fault[1:])))
    lines = ["| fault | tests | fail |", "|---|---|---|", *(f"| {fault} | {tests[fault]} | {failing[fault]} |" for fault in order)]
    passing = sorted(name for _, name, how in rows if how == "PASSED")
    return "\n".join([*lines, "", "Passing there:", "", *(f"- `{name}`" for name in passing)])


if __name__ == "__main__":
    sys.stdout.write(table(outcomes(sys.argv[1])) + "\n")
