"""A group of 10,000 jobs through every bulk command: all of it arrives, and neither program grows with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchloop_client.samples import write_large
from tests.support.documented import Documented
from tests.support.programs import Bl, Result, Server, serving

_JOBS = 10_000
_BYTES = 2_000
_CLIENT_LIMIT = 150_000_000
_SERVER_LIMIT = 400_000_000
_GROUP = "LARGE"

pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True)
class Large:
    """A server that holds the group, a client of it, and how the push of the group went."""

    server: Server
    bl: Bl
    push: Result


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    """10,000 generated jobs, pushed as a Harbor run directory."""
    root = tmp_path_factory.mktemp("large")
    run = write_large(root / "run", _JOBS, _BYTES)
    with serving(root / "data") as server:
        bl = server.bl(root / "home")
        yield Large(server, bl, bl.measured("push", str(run), "--group", _GROUP, timeout=400))


def _within_limits(large: Large, result: Result) -> None:
    assert result.code == 0, str(result)
    assert result.peak_bytes < _CLIENT_LIMIT, f"the client took {result.peak_bytes / 1e6:.0f} MB"
    peak = large.server.peak_bytes()
    assert peak < _SERVER_LIMIT, f"the server took {peak / 1e6:.0f} MB"


def _list(path: Path) -> list[str]:
    found = json.loads(path.read_bytes())
    assert found["total"] == _JOBS
    return [row["job_id"] for row in found["jobs"]]


def test_push_takes_all(large: Large) -> None:
    """Everything goes up."""
    _within_limits(large, large.push)
    assert [(row["present"], row["new"], row["rejected"]) for row in large.push.json] == [(_JOBS, _JOBS, [])]


def test_progress_does_not_flood_a_log(large: Large) -> None:
    """Not a line a job: a log of the push stays short and plain."""
    lines = large.push.err.splitlines()
    assert len(lines) < 500
    assert "\r" not in large.push.err
    assert "\x1b" not in large.push.err


def test_jobs_get_all(large: Large) -> None:
    """`bl jobs get --all | jq '.[0].jobs | length'`."""
    result = large.bl.measured("jobs", "get", "-g", _GROUP, "--all")
    _within_limits(large, result)
    assert len({row["job_id"] for row in result.json[0]["jobs"]}) == _JOBS == result.json[0]["total"]


def test_jobs_download(large: Large, tmp_path: Path) -> None:
    """The list as a file."""
    result = large.bl.measured("jobs", "download", "-g", _GROUP, "-o", str(tmp_path))
    _within_limits(large, result)
    assert len(set(_list(tmp_path / _GROUP / "job_list.json"))) == _JOBS


def test_trajectory_download(large: Large, tmp_path: Path) -> None:
    """All documents in one file, in the order of the job list."""
    result = large.bl.measured("trajectory", "download", "-g", _GROUP, "-o", str(tmp_path), timeout=200)
    _within_limits(large, result)
    found = json.loads((tmp_path / _GROUP / "trajectory.json").read_bytes())
    assert len({document["trajectory_id"] for document in found["trajectories"]}) == _JOBS == len(found["trajectories"])


def test_pull(large: Large, tmp_path: Path) -> None:
    """`bl pull` with all that is one file a group: the same jobs in each of them."""
    out = tmp_path / "out"
    result = large.bl.measured("pull", "-g", _GROUP, "--with", "metrics,trajectory,tasks,jobs", "-o", str(out), timeout=200)
    _within_limits(large, result)
    jobs = set(_list(out / _GROUP / "job_list.json"))
    assert {row["job_id"] for row in json.loads((out / _GROUP / "detail_metrics.json").read_bytes())["metrics"]} == jobs
    assert {row["trajectory_id"] for row in json.loads((out / _GROUP / "trajectory.json").read_bytes())["trajectories"]} == jobs
    assert json.loads((out / _GROUP / "task_list.json").read_bytes())["total"] == _JOBS // 4


@pytest.mark.soak
def test_pull_artifacts(large: Large, tmp_path: Path) -> None:
    """`bl pull` of 10,000 archives, a file each."""
    result = large.bl.measured("pull", "-g", _GROUP, "--with", "jobs,artifacts", "-o", str(tmp_path), timeout=500)
    _within_limits(large, result)
    assert {path.parent.name for path in (tmp_path / _GROUP).glob("*/*.tgz")} == set(_list(tmp_path / _GROUP / "job_list.json"))


def test_three_thousand_equal_times(old: Documented, bl: Bl, out: Path) -> None:
    """A server of the documented protocol whose jobs share one creation time: listed completely, in bounded memory."""
    old.fill("SAME", [f"J{number:05}" for number in range(3000)], created_at="2026-01-01T00:00:00Z")
    result = bl.measured("jobs", "download", "-g", "SAME", "-o", str(out))
    assert result.code == 0, str(result)
    assert result.peak_bytes < _CLIENT_LIMIT
    assert len(json.loads((out / "SAME" / "job_list.json").read_bytes())["jobs"]) == 3000
