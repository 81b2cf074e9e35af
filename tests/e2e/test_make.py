"""The Makefile as a stranger meets it: the list, and one sentence when the interpreter will not do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

_TARGETS = {"demo", "test", "soak", "check", "fix", "bench", "serve", "docs"}

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", "--no-print-directory", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_a_bare_make_lists_the_targets() -> None:
    done = _make()
    listed = {line.split()[0] for line in done.stdout.splitlines()[1:]}
    assert done.returncode == 0
    assert listed >= _TARGETS
    assert all(len(line.split()) > 2 for line in done.stdout.splitlines()[1:])


@pytest.mark.parametrize("target", ["demo", "test"])
def test_an_interpreter_that_is_not_there(target: str) -> None:
    done = _make(target, "PYTHON=python-that-is-not-there")
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == (
        "make: python-that-is-not-there was not found; name an interpreter with `make PYTHON=python3.12`"
    )


def test_an_interpreter_that_is_too_old(tmp_path: Path) -> None:
    script = tmp_path / "old.py"
    script.write_text(
        "import runpy, sys\nsys.version_info = (3, 9, 18)\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    done = subprocess.run(["python3", str(script), str(ROOT / "tools" / "bootstrap.py"), "dev"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("bootstrap: Python 3.10 or newer is needed, ")
    assert len(done.stderr.splitlines()) == 1
