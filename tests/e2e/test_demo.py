"""`make demo` from outside: what it shows and writes, and that nothing of it is left running."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

_ADDRESS = re.compile(r"listens on http://127\.0\.0\.1:(\d+)")


def _demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "demo.py"), "--folder", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=110)


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The demo with its own sample run, once."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, _demo(folder)


def test_the_sample_demo_ends_well_and_stops_its_server(sample: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    _, done = sample
    assert done.returncode == 0, done.stdout + done.stderr
    said = _ADDRESS.search(done.stdout)
    assert said is not None and not _is_listening(int(said.group(1)))


def test_the_sample_demo_leaves_the_documented_files(sample: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    group = sample[0] / "pulled" / "demo-run"
    jobs = json.loads((group / "job_list.json").read_text("utf-8"))
    trajectories = json.loads((group / "trajectory.json").read_text("utf-8"))
    assert jobs["total"] == len(jobs["jobs"]) > 0
    assert {job["step"] for job in jobs["jobs"]} == {100, 200}
    assert {row["trajectory_id"] for row in trajectories["trajectories"]} <= {job["job_id"] for job in jobs["jobs"]}
    for name in ("overall_metrics.json", "detail_metrics.json", "task_list.json"):
        json.loads((group / name).read_text("utf-8"))
    assert list(group.glob("*/*.tgz"))


def test_the_demo_never_shows_its_key(sample: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = sample
    written = "".join(path.read_text("utf-8", "replace") for path in folder.rglob("*.log"))
    assert "blk_" not in done.stdout + done.stderr + written


def test_a_run_of_ones_own(shared_data: Path, tmp_path: Path) -> None:
    done = _demo(tmp_path / "demo", str(shared_data / "harbor-kimi" / "kimi_k2.5"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "62 jobs present of 89 expected" in done.stdout


def test_a_directory_that_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = _demo(tmp_path / "demo", str(tmp_path / "empty"))
    said = _ADDRESS.search(done.stdout)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("demo: `bl push`"), done.stderr
    assert said is not None and not _is_listening(int(said.group(1)))


def test_a_path_to_nothing(tmp_path: Path) -> None:
    done = _demo(tmp_path / "demo", str(tmp_path / "gone"))
    assert (done.returncode, done.stderr) == (1, f"demo: there is nothing at {tmp_path / 'gone'}\n")


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    done = _demo(tmp_path)
    assert done.returncode == 1 and "holds something else" in done.stderr
    assert (tmp_path / "thesis.txt").read_text() == "precious"
