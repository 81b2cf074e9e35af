"""The generated reference pages say what the code says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT

REFERENCE = ROOT / "docs" / "reference"


def _check(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "reference.py"), "--check", "--folder", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_pages_are_in_step() -> None:
    done = _check(REFERENCE)
    assert done.returncode == 0, done.stderr


def test_a_changed_and_a_missing_page_are_found(tmp_path: Path) -> None:
    copy = shutil.copytree(REFERENCE, tmp_path / "reference")
    (copy / "errors.md").write_text((copy / "errors.md").read_text("utf-8").replace("404", "405"), "utf-8")
    (copy / "api.md").unlink()
    done = _check(copy)
    assert done.returncode == 1
    assert "api.md, errors.md" in done.stderr
