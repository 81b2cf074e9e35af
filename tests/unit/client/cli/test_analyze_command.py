"""`bl analyze`: what it prints in each format, its exit codes, and that it needs neither key nor server."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.client.actions.test_analyze_action import call, trial
from tests.unit.client.cli.conftest import Bl
from tests.unit.formats.harbor_dirs import write, write_job


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    """Two jobs: a pass, and one whose tests never ran."""
    folder = write_job(tmp_path / "nightly")
    trial(folder, "edit__0000001", 1.0, call(2, "ls /app"))
    trial(folder, "lost__0000002", 0.0, call(2, "ls"), log="/tests/test.sh: line 19: uvx: command not found\n")
    return folder


def test_json_is_an_object_a_group(bl: Bl, nightly: Path) -> None:
    ran = bl("analyze", str(nightly), "-q")
    (found,) = ran.json
    assert ran.code == 0 and list(found) == ["group", "jobs"] and ran.err == ""
    assert found["group"]["headline"] == "1 of 2 passed; 1 of 1 whose reward is valid"
    assert [job["task_id"] for job in found["jobs"]] == ["edit", "lost"] and found["jobs"][1]["fail_reason"] == "verifier_error"


def test_no_client_is_made_and_no_setting_read(bl: Bl, nightly: Path) -> None:
    ran = bl("analyze", str(nightly), "-q", env={"BENCHLOOP_HOST": "nonsense://"})
    assert ran.code == 0 and ran.client is None and ran.settings == []


def test_compact_json_says_the_same(bl: Bl, nightly: Path) -> None:
    pretty, compact = bl("analyze", str(nightly), "-q"), bl("analyze", str(nightly), "-q", "--no-pretty")
    assert compact.out.count("\n") == 1 and compact.json == pretty.json


def test_lines_and_csv_have_a_job_a_line(bl: Bl, nightly: Path) -> None:
    lines = [json.loads(line) for line in bl("analyze", str(nightly), "-q", "--format", "jsonl").out.splitlines()]
    assert [line["task_id"] for line in lines] == ["edit", "lost"] and next(iter(lines[0])) == "group_id"
    rows = list(csv.DictReader(io.StringIO(bl("analyze", str(nightly), "-q", "--format", "csv").out)))
    assert [row["sub_fail_reason"] for row in rows] == ["", "verifier_bootstrap_failed"]
    picked = bl("analyze", str(nightly), "-q", "--format", "jsonl", "--fields", "job_id,tier").out.splitlines()
    assert [list(json.loads(line)) for line in picked] == [["job_id", "tier"]] * 2


def test_the_table_begins_with_the_pass_rate_both_ways(bl: Bl, nightly: Path) -> None:
    lines = bl("analyze", str(nightly), "-q", "--format", "table").out.splitlines()
    assert lines[0] == "1 of 2 passed; 1 of 1 whose reward is valid"
    assert any(line.startswith("verifier_error > verifier_bootstrap_failed") for line in lines)
    assert any(line.startswith("lost") and "verifier_bootstrap_failed" in line for line in lines)


def test_hostile_names_cannot_move_the_cursor(bl: Bl, tmp_path: Path) -> None:
    folder = write_job(tmp_path / "nightly")
    trial(folder, "lost__0000002", 0.0, call(2, "ls"), log="\x1b]0;owned\x07\x1b[2J: command not found\n")
    config = json.loads((folder / "lost__0000002" / "result.json").read_text())
    write(folder / "lost__0000002" / "result.json", {**config, "task_name": "\x1b[2Jtask\nname"})
    assert "\x1b" not in bl("analyze", str(folder), "-q", "--format", "table").out


def test_reports_are_written_where_asked(bl: Bl, nightly: Path, tmp_path: Path) -> None:
    for place, argv in (
        ("a", ("analyze", str(nightly), "-q", "-o", str(tmp_path / "a"))),
        ("b", ("-o", str(tmp_path / "b"), "analyze", str(nightly))),
    ):
        assert bl(*argv).code == 0
        assert len(list((tmp_path / place).rglob("*_report.md"))) == 3


def test_a_job_that_cannot_be_read_is_named_and_exits_1(bl: Bl, nightly: Path) -> None:
    write(nightly / "torn__0000005" / "config.json", b"{")
    ran = bl("analyze", str(nightly), "-q")
    assert ran.code == 1 and "torn__0000005" in ran.err and len(ran.json[0]["jobs"]) == 2


def test_wrong_usage_exits_2(bl: Bl, nightly: Path, tmp_path: Path) -> None:
    assert bl("analyze").code == 2
    assert bl("analyze", str(tmp_path / "nowhere")).code == 2
    assert bl("analyze", str(nightly), "--jobs", "0").code == 2
    ran = bl("analyze", str(nightly), "--rules", str(write(tmp_path / "r.yaml", "name: [")))
    assert ran.code == 2 and "r.yaml, line 2: not YAML" in ran.err


@pytest.mark.parametrize("missing", ["numpy", "yaml"])
def test_without_the_extra_one_sentence_says_what_to_install(nightly: Path, missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from benchloop_client.cli.app import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "analyze", str(nightly)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"[error] {missing} is missing, which the analysis needs: pip install 'benchloop_client[analysis]'\n"
