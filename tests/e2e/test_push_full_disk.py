"""A server whose disk is full while a run is pushed: it says so, the push stops, and with room again it ends as on a large disk."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchloop_client.samples import write_large
from tests.support.programs import Bl, files_below, serving
from tests.support.soaking import leaks, summary

pytestmark = pytest.mark.timeout(300)

_JOBS, _QUICK, _SOAK = 60, range(2), range(50)


@contextmanager
def _disk(folder: Path, size: int) -> Iterator[Callable[[], object]]:
    """A file system of `size` bytes at `folder`, with what makes it large enough."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this user cannot mount a small file system")
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=200m", str(folder)], check=True)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 jobs with 64 KiB each that no compressor makes smaller: about 4 MB on the server."""
    out = write_large(tmp_path_factory.mktemp("full") / "run", _JOBS, 4_000)
    for folder in out.glob("task-*"):
        (folder / "agent" / "noise.bin").write_bytes(random.Random(folder.name).randbytes(65_536))
    return out


@pytest.fixture(scope="module")
def right(run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a pull gives when there was room."""
    root = tmp_path_factory.mktemp("right")
    with serving(root / "data", "--no-worker") as server:
        bl = server.bl(root / "home")
        done = bl("push", str(run), "--group", "G", timeout=120)
        assert done.code == 0, done
        return _pulled(bl, root / "out")


def _pulled(bl: Bl, out: Path) -> dict[str, bytes]:
    done = bl("pull", "-g", "G", "--with", "trajectory,artifacts", "-o", str(out), timeout=120)
    assert done.code == 0, done
    return files_below(out)


def _full(run: Path, right: dict[str, bytes], tmp_path: Path, seed: int) -> None:
    with _disk(tmp_path / "disk", 40 << 20) as enlarge, serving(tmp_path / "disk" / "data", "--no-worker") as server:
        bl = server.bl(tmp_path / "home")
        _fill(tmp_path / "disk", random.Random(seed).randrange(1 << 16, 3 << 20))
        first = bl("push", str(run), "--group", "G", timeout=120)
        assert first.code == 1, summary(first)
        assert "disk is full" in first.err
        assert first.err.count("\n") < 5, summary(first)
        enlarge()
        done = bl("push", str(run), "--group", "G", timeout=120)
        assert done.code == 0, (summary(first), summary(done))
        assert done.json[0]["present"] == _JOBS
        assert _pulled(bl, tmp_path / "out") == right
        assert leaks(bl.key or "", first.err, done.err, "".join(server.log)) == []
        assert list((tmp_path / "disk" / "data" / "scratch").iterdir()) == []


def _fill(disk: Path, left: int) -> None:
    """Take all room of a disk but so many bytes."""
    free = int(subprocess.run(["df", "--output=avail", "-B1", str(disk)], capture_output=True, text=True, check=True).stdout.split()[1])
    with (disk / "filler").open("wb") as file:
        file.write(bytes(max(0, free - left)))


@pytest.mark.parametrize("seed", _QUICK)
def test_a_push_to_a_full_disk_stops_and_ends_well_with_room(run: Path, right: dict[str, bytes], tmp_path: Path, seed: int) -> None:
    _full(run, right, tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", _SOAK)
def test_soak_a_push_to_a_full_disk_stops_and_ends_well_with_room(run: Path, right: dict[str, bytes], tmp_path: Path, seed: int) -> None:
    _full(run, right, tmp_path, seed)
