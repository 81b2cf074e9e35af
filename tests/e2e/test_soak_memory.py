"""A group of 100,000 jobs (`make soak`): its document, and its analysis, need the memory of a tenth of them, and disturb nobody."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from bench.reanalysis import Asking, reanalysed
from benchloop_client.samples import write_large
from tests.support.programs import Bl, Server, cores, serving

_BYTES = 20_000
_FEW, _MANY = 10_000, 100_000
_CLIENT_LIMIT, _SERVER_LIMIT = 100_000_000, 300_000_000
#: Peak memory while 100,000 jobs of 25,000 tasks are analysed: the report's counters, a few kilobytes a task, are the worker's.
_PEAKS = {"server": 180_000_000, "worker": 260_000_000, "hand": 120_000_000}

pytestmark = [pytest.mark.soak, pytest.mark.timeout(9000)]


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


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a server that holds both groups."""
    folder = tmp_path_factory.mktemp("stored")
    with serving(folder / "data") as server:
        bl = server.bl(folder / "home")
        for jobs in (_FEW, _MANY):
            _push(bl, folder / "run", jobs)
        for jobs in (_FEW, _MANY):
            done = bl("report", "trigger", "-g", f"JOBS{jobs}", "--wait", "--wait-timeout", "3000", timeout=3100)
            assert done.code == 0, done.err
    return folder / "data"


def test_a_hundred_thousand_jobs_take_the_memory_of_ten_thousand(stored: Path, tmp_path: Path) -> None:
    with serving(stored) as server:
        bl = server.bl(tmp_path / "home")
        small = _fetched(server, bl, tmp_path / "out", _FEW)
        large = _fetched(server, bl, tmp_path / "out", _MANY)
    assert large[0] <= _CLIENT_LIMIT, f"the client took {large[0] / 1e6:.0f} MB"
    assert large[1] <= _SERVER_LIMIT, f"the server took {large[1] / 1e6:.0f} MB"
    assert large[0] <= small[0] * 1.2, f"{large[0] / 1e6:.0f} MB against {small[0] / 1e6:.0f} MB of a tenth"


def test_a_hundred_thousand_jobs_are_analysed_again_while_small_requests_are_answered(stored: Path, tmp_path: Path) -> None:
    """Other rules: every job is judged anew, by all cores, in the memory of a tenth of the jobs."""
    rules = tmp_path / "ours.yaml"
    rules.write_text("name: ours\nversion: 1\nrules: []\n")
    with serving(stored, BENCHLOOP_SERVER_RULES=str(rules)) as server:
        asking = Asking(server.origin, server.key())
        small, large = (reanalysed(asking, server.pid, f"JOBS{jobs}", within=2400) for jobs in (_FEW, _MANY))
    print(f"\n{small.line()}\n{large.line()}", file=sys.stderr)
    assert large.jobs == _MANY and set(large.seen.peaks) == {"server", "worker", "hand"}
    for role, most in _PEAKS.items():
        assert large.seen.peaks[role] <= most, large.line()
    assert large.seen.peaks["hand"] <= small.seen.peaks["hand"] * 1.2, "a process that judges holds one job at a time"
    assert large.seen.peaks["server"] <= small.seen.peaks["server"] * 1.2, "what answers requests holds nothing of it"
    busy = large.seen.hands_cpu()
    assert len(busy) == cores() and busy[-1] > 0.5 * busy[0], large.line()
    assert large.seen.latency(0.5) < 0.05 + large.before.latency(0.5) and large.seen.latency(0.99) < 0.5 + large.before.latency(0.99)
