"""Long seeded runs from outside (`make soak`): pushes and pulls killed again and again end where one clean push and one clean pull end."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from benchloop_client.samples import write_large
from tests.support.programs import Bl, files_below, finish, serving

_JOBS = 200
_KILLS = 6
_EVERYTHING = "metrics,trajectory,artifacts,tasks,jobs"

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]


def _killed(bl: Bl, arguments: list[str], rng: random.Random, seconds: float) -> None:
    """Start the command `_KILLS` times and kill it at a random moment; then let it end, which it must do well."""
    for _ in range(_KILLS):
        process = bl.start(*arguments)
        time.sleep(rng.uniform(0.05, seconds))
        finish(process)
    done = bl(*arguments, timeout=300)
    assert done.code == 0, str(done)


def _finished(root: Path) -> dict[str, bytes]:
    """All files but the part files, which a killed program cannot take away."""
    return {name: content for name, content in files_below(root).items() if not name.endswith(".part")}


@pytest.mark.parametrize("seed", range(3))
def test_killed_pushes_and_pulls_end_as_clean_ones(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    run = tmp_path / "run"
    write_large(run, _JOBS, 20_000, seed=seed)
    with serving(tmp_path / "data") as server:
        pulled = []
        for name in ("clean", "killed"):
            bl = server.bl(tmp_path / name, server.key(name, workspace=name))
            push, pull = ["push", str(run), "--group", "G"], ["pull", "-g", "G", "--with", _EVERYTHING, "-o", str(tmp_path / name / "out")]
            if name == "clean":
                times = [bl(*arguments, timeout=300).seconds for arguments in (push, pull)]
            else:
                _killed(bl, push, rng, times[0])
                _killed(bl, [*pull, "--skip-existing"], rng, times[1])
            pulled.append(_finished(tmp_path / name / "out"))
    clean, killed = pulled
    assert killed.keys() == clean.keys()
    contents = [name for name in clean if name.endswith(".tgz") or name == "G/trajectory.json"]
    assert len(contents) > 1
    assert [name for name in contents if killed[name] != clean[name]] == []
