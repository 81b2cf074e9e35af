"""The installed `bl` and a server with its worker: behaviour tasks from start to table, real runs, and a server killed in the middle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchloop_client import Client
from benchloop_client.contract.resources import GroupUpsert, JobsUpsert, JobUpsert
from benchloop_client.samples.generator import write_samples
from tests.support.programs import Bl, Server, wait_for
from tests.support.stores import job
from tests.support.terminals import TMUX, on_screen

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Serving, with a worker as soon as there is work."""
    server = Server(tmp_path / "data")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def bl(server: Server, home: Path) -> Bl:
    """The client on that server."""
    return Bl(home, server.origin, server.key())


@pytest.mark.parametrize("place", ["harbor-kimi", "tau-bench/historical_trajectories/gpt-4o-airline.json"])
def test_real_runs_are_studied(bl: Bl, shared_data: Path, place: str) -> None:
    assert bl("push", str(shared_data / place), "--group", "G", "--allow-secrets").code == 0
    ran = bl("brm", "run", "-g", "G", "--wait")
    assert (ran.code, ran.json[0]["status"]) == (0, "succeeded"), str(ran)
    uid = ran.json[0]["task_id"]
    (overall,) = bl("brm", "get", "--task-id", uid, "--scope", "overall").json
    assert list(overall) == ["task_id", "uid", "summary", "categoryScores"]
    assert len(overall["categoryScores"]) == 8
    (detail,) = bl("brm", "get", "--task-id", uid, "--scope", "detail").json
    assert 0 < len(detail["behaviorPatterns"]) <= 32
    table = bl("brm", "get", "--task-id", uid, "--format", "table")
    assert table.code == 0
    assert "within the task" in table.out or not any(one["informative_tasks"] for one in detail["behaviorPatterns"])
    if place.startswith("tau"):
        assert all(one["status"] != "supported" for one in detail["behaviorPatterns"] if one["kind"] == "catalogue")
        assert "Pooled over all jobs, 9 of 18 behaviours look significant" in overall["summary"]
        assert "compared between attempts at the same task, none do" in overall["summary"]


def test_a_server_that_is_killed_goes_on(bl: Bl, server: Server, tmp_path: Path) -> None:
    write_samples(tmp_path / "runs")
    assert bl("push", str(tmp_path / "runs" / "step-100"), "--group", "G").code == 0
    made = bl("brm", "run", "-g", "G")
    server.kill()
    server.start()
    again = Bl(bl.home, server.origin, server.key())
    ran = again("brm", "run", "-g", "G", "--wait")
    assert (ran.code, ran.json[0]["status"], ran.json[0]["uid"]) == (0, "succeeded", made.json[0]["uid"]), str(ran)


@pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
def test_a_person_sees_a_table(bl: Bl, server: Server, tmp_path: Path) -> None:
    write_samples(tmp_path / "runs")
    assert bl("push", str(tmp_path / "runs" / "step-100"), "--group", "G").code == 0
    uid = bl("brm", "run", "-g", "G", "--wait").json[0]["uid"]
    with on_screen(tmp_path, bl, ["brm", "get", "--task-id", uid], columns=140, rows=60) as screen:
        wait_for(lambda: any("Points are hundredths" in line for line in screen.lines()), 30, "the table")
        assert any("within the task" in line for line in screen.lines())
    assert len(bl("brm", "get", "--task-id", uid).json) == 1


def test_a_task_that_cannot_be_done_says_why(bl: Bl, server: Server) -> None:
    with Client(server.origin, server.key()) as client:
        client.api.group_put("G", GroupUpsert(name="G"))
        client.api.jobs_put("G", JobsUpsert(jobs=[msgspec.convert(job("bare"), JobUpsert)]))
    ran = bl("brm", "run", "-g", "G", "--wait")
    assert ran.code == 1
    assert "the server ended it with status failed: there is no job to look at: 1 have no trajectory" in ran.err


def test_a_task_is_cancelled(bl: Bl, server: Server, tmp_path: Path) -> None:
    write_samples(tmp_path / "runs")
    assert bl("push", str(tmp_path / "runs" / "step-100"), "--group", "G").code == 0
    uid = bl("brm", "run", "-g", "G").json[0]["uid"]
    first, second = (bl("brm", "cancel", "--task-id", uid) for _ in range(2))
    assert (first.code, second.code) == (0, 0)
    assert first.json[0]["status"] in {"cancelled", "succeeded"}
    assert second.json == first.json
    assert first.json[0]["task_id"] == uid
    missing = bl("brm", "cancel", "--task-id", f"NO,{uid}")
    assert (missing.code, [task["uid"] for task in missing.json]) == (1, [uid])


def test_a_local_run_is_studied_without_a_server(home: Path, tmp_path: Path) -> None:
    write_samples(tmp_path / "runs")
    bl = Bl(home, "http://127.0.0.1:9", "none")
    page, out = tmp_path / "page.html", tmp_path / "out"
    ran = bl("analyze", str(tmp_path / "runs" / "step-100"), "--html", str(page), "-o", str(out))
    assert ran.code == 0, str(ran)
    (group,) = ran.json
    assert list(group) == ["group", "brm", "jobs"]
    assert group["brm"]["summaryData"]["n"] > 0
    group_id = group["group"]["group_id"]
    assert json.loads((out / f"{group_id}_brm.json").read_text()) == group["brm"]
    assert (out / f"{group_id}_brm.md").read_text() == group["brm"]["summary"]
    text = page.read_text()
    assert "Plotly.newPlot" in text
    assert 'src="http' not in text
    assert "brm" not in bl("analyze", str(tmp_path / "runs" / "step-100")).json[0]
