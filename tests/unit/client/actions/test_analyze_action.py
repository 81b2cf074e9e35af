"""A local run analysed: the same in any number of processes, files by their documented names, unreadable jobs named, siblings compared."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from benchloop_analysis.sources import JOB_TEXT
from benchloop_client.actions.analyze import AnalysedGroup, Analysis, Request, analyze
from benchloop_client.actions.analyze_jobs import texts
from benchloop_client.errors import LocalError, UsageError
from benchloop_client.formats.records import RunFile
from tests.unit.analysis.made import call
from tests.unit.formats.harbor_dirs import write, write_job, write_trial

AGREED = {
    "job_id", "task_id", "fail_reason", "sub_fail_reason", "tier", "fault_side", "reward_valid", "evidence", "secondary", "wasted_steps",
    "wasted_seconds", "ruleset_version",
}  # fmt: skip


def document(*steps: dict[str, Any]) -> dict[str, Any]:
    asked = {"step_id": 1, "source": "user", "message": "Write /app/out.txt."}
    return {"schema_version": "ATIF-v1.5", "agent": {"name": "coder", "version": "1"}, "steps": [asked, *steps]}


def trial(folder: Path, name: str, reward: float, *steps: dict[str, Any], log: str | None = None) -> None:
    path = write_trial(folder, name, verifier_result={"rewards": {"reward": reward}})
    write(path / "agent" / "trajectory.json", document(*steps))
    if log is not None:
        write(path / "verifier" / "test-stdout.txt", log)


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    """One task tried three times (one pass), one whose tests never ran, one trial that cannot be read."""
    folder = write_job(tmp_path / "nightly")
    trial(folder, "edit__0000001", 1.0, call(2, "ls /app"), call(3, "echo x > /app/out.txt"), call(4, "pytest /app", "1 passed"))
    trial(folder, "edit__0000002", 0.0, *(call(number, "make", "no rule") for number in range(2, 9)))
    trial(folder, "edit__0000003", 0.0, call(2, "ls /app"), call(3, "echo y > /app/out.txt"))
    trial(folder, "lost__0000004", 0.0, call(2, "ls"), log="/tests/test.sh: line 19: uvx: command not found\n")
    write(folder / "torn__0000005" / "config.json", b"{")
    return folder


def run(path: Path, **more: Any) -> Analysis:
    return analyze(Request(path, **{"processes": 1, **more}))


def only(analysis: Analysis) -> AnalysedGroup:
    (group,) = analysis.groups
    return group


def by_task(analysis: Analysis) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for job in only(analysis).jobs():
        found.setdefault(job["task_id"], []).append(job)
    return found


def test_verdicts_have_the_agreed_fields(nightly: Path) -> None:
    with run(nightly) as analysis:
        jobs = list(only(analysis).jobs())
        assert len(jobs) == 4 and all(job.keys() >= AGREED for job in jobs)
        (lost,) = by_task(analysis)["lost"]
    assert (lost["fail_reason"], lost["reward_valid"], lost["fault_side"]) == ("verifier_error", False, "grader")
    assert lost["evidence"][0]["quote"] == "/tests/test.sh: line 19: uvx: command not found"


def test_the_group_counts_both_ways(nightly: Path) -> None:
    with run(nightly) as analysis:
        assert only(analysis).report.headline == "1 of 4 passed; 1 of 3 whose reward is valid"
        assert only(analysis).report.expected == 4


def test_what_cannot_be_read_is_named_and_stops_nothing(nightly: Path) -> None:
    with run(nightly) as analysis:
        (failure,) = analysis.report.failures
    assert failure.label == "torn__0000005" and analysis.report.done == 4


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_any_number_of_processes_writes_the_same(nightly: Path, tmp_path: Path) -> None:
    rows = []
    for number in (1, 2, 3):
        with run(nightly, processes=number, output_dir=tmp_path / str(number)) as analysis:
            rows.append([list(group.rows()) for group in analysis.groups])
    assert rows[0] == rows[1] == rows[2]
    assert everything(tmp_path / "1") == everything(tmp_path / "2") == everything(tmp_path / "3")


def test_reports_have_their_documented_names(nightly: Path, tmp_path: Path) -> None:
    with run(nightly, output_dir=tmp_path / "out") as analysis:
        group = only(analysis)
        job_ids = [job["job_id"] for job in group.jobs()]
    expected = {f"{group.group_id}{ending}" for ending in ("_report.md", "_report.json", "_rsi.md")}
    expected |= {f"{group.group_id}/{job}{ending}" for job in job_ids for ending in ("_report.md", "_report.json", "_rsi.md")}
    assert set(everything(tmp_path / "out")) == expected
    written = json.loads((tmp_path / "out" / f"{group.group_id}_report.json").read_text())
    assert written == group.report_dict()
    assert (tmp_path / "out" / f"{group.group_id}_report.md").read_text().startswith("**1 of 4 passed; 1 of 3 whose reward is valid**")


def test_a_failed_attempt_is_compared_with_one_that_passed(nightly: Path, tmp_path: Path) -> None:
    with run(nightly, output_dir=tmp_path / "out", processes=2) as analysis:
        group = only(analysis)
        jobs = by_task(analysis)
        passed = next(job["job_id"] for job in jobs["edit"] if job["outcome"] == "passed")
        failed = jobs["edit"][2]["job_id"]
    report = json.loads((tmp_path / "out" / group.group_id / f"{failed}_report.json").read_text())
    assert (report["sibling"]["sibling"], report["sibling"]["same"]) == (passed, 2)
    assert report["sibling"]["theirs"]["text"] == "pytest /app"
    lost = jobs["lost"][0]["job_id"]
    assert json.loads((tmp_path / "out" / group.group_id / f"{lost}_report.json").read_text())["sibling"] is None


def test_rules_of_ones_own_are_used(nightly: Path, tmp_path: Path) -> None:
    disabled = write(tmp_path / "mine.yaml", "name: mine\nversion: 3\ndisable: [verifier-bootstrap-failed]\n")
    with run(nightly, rules=(disabled,)) as analysis:
        (lost,) = by_task(analysis)["lost"]
    assert lost["sub_fail_reason"] != "verifier_bootstrap_failed" and "mine-3" in lost["ruleset_version"]


def test_a_bad_rule_file_is_refused_with_its_line(nightly: Path, tmp_path: Path) -> None:
    bad = write(tmp_path / "mine.yaml", "name: mine\nversion: 1\ndisable:\n  - nobody\n")
    with pytest.raises(UsageError, match=r"mine\.yaml, line 3.*nobody"):
        run(nightly, rules=(bad,))
    with pytest.raises(UsageError, match="no UTF-8"):
        run(nightly, rules=(write(tmp_path / "other.yaml", b"\xff\xfe"),))


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="holds no Harbor job"):
        run(tmp_path)


def test_nothing_is_sent(nightly: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with run(nightly) as analysis:
        assert analysis.report.done == 4


def test_temporary_files_are_gone(nightly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with run(nightly):
        pass
    assert list((tmp_path / "tmp").iterdir()) == []


def test_files_are_read_within_bounds(tmp_path: Path) -> None:
    small = RunFile("verifier/a.txt", b"hello", 5)
    long = write(tmp_path / "long.txt", b"a" * (2 << 20) + b"b" * (3 << 20))
    (one, two) = texts((small, RunFile("verifier/long.txt", long, 5 << 20), RunFile("agent/other.py", b"x", 1)))
    assert (one.text, one.whole, two.whole) == ("hello", True, False)
    assert len(two.text) == (2 << 20) + 1 and two.text[0] == "a" and two.text[-1] == "b"
    many = tuple(RunFile(f"verifier/{number}.txt", b"x" * (1 << 20), 1 << 20) for number in range(60))
    assert len(texts(many)) == JOB_TEXT >> 20
    assert texts((RunFile("verifier/gone.txt", tmp_path / "gone", 1),)) == ()
