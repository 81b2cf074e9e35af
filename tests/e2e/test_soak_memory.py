"""The document of a group of 100,000 jobs (`make soak`): neither program needs more memory for it than for a tenth of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchloop_client.samples import write_large
from tests.support.programs import Bl, Server, serving

_BYTES = 20_000
_FEW, _MANY = 10_000, 100_000
_CLIENT_LIMIT, _SERVER_LIMIT = 100_000_000, 300_000_000

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3000)]


def _push(bl: Bl, run: Path, jobs: int) -> None:
    """Push a generated run of so many jobs; the run is removed."""
    write_large(run, jobs, _BYTES)
    done = bl.measured("push", str(run), "--group", f"JOBS{jobs}", timeout=2400)
    assert done.code == 0, str(done)
    shutil.rmtree(run)


def _fetched(server: Server, bl: Bl, out: Path, jobs: int) -> tuple[int, int]:
    """Peak memory in bytes of the client and of a freshly started server, the document complete."""
    server.stop()
    server.start(server.port)
    done = bl.measured("--no-pretty", "trajectory", "download", "-g", f"JOBS{jobs}", "-o", str(out), timeout=900)
    assert done.code == 0, str(done)
    path = out / f"JOBS{jobs}" / "trajectory.json"
    assert _counted(path, b'"trajectory_id":') == jobs
    shutil.rmtree(out)
    return done.peak_bytes, server.peak_bytes()


def _counted(path: Path, word: bytes) -> int:
    """How often a word stands in a file of any length."""
    found, rest = 0, b""
    with path.open("rb") as file:
        while piece := file.read(1 << 24):
            rest += piece
            found += rest.count(word)
            rest = rest[-(len(word) - 1) :]
    return found


def test_a_hundred_thousand_jobs_take_the_memory_of_ten_thousand(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        bl = server.bl(tmp_path / "home")
        for jobs in (_FEW, _MANY):
            _push(bl, tmp_path / "run", jobs)
        small = _fetched(server, bl, tmp_path / "out", _FEW)
        large = _fetched(server, bl, tmp_path / "out", _MANY)
    assert large[0] <= _CLIENT_LIMIT, f"the client took {large[0] / 1e6:.0f} MB"
    assert large[1] <= _SERVER_LIMIT, f"the server took {large[1] / 1e6:.0f} MB"
    assert large[0] <= small[0] * 1.2, f"{large[0] / 1e6:.0f} MB against {small[0] / 1e6:.0f} MB of a tenth"
