"""The generated reference pages say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT

REFERENCE = ROOT / "docs" / "reference"


def _run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "reference.py"), "--folder", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_pages_are_in_step() -> None:
    done = _run(REFERENCE, "--check")
    assert done.returncode == 0, done.stderr


def test_a_changed_and_a_missing_page_are_found(tmp_path: Path) -> None:
    copy = tmp_path / "reference"
    assert _run(copy).returncode == 0
    (copy / "errors.md").write_text((copy / "errors.md").read_text("utf-8").replace("404", "405"), "utf-8")
    (copy / "api.md").unlink()
    done = _run(copy, "--check")
    assert done.returncode == 1
    assert "api.md, errors.md" in done.stderr
