"""`bl analyze` as it is installed: what it says about real runs, that quotes stand where they are cited, and that Ctrl-C leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchloop_analysis.evidence import is_verbatim
from benchloop_analysis.records import Evidence, Facts, JobInput
from benchloop_client.actions.analyze_jobs import texts
from benchloop_client.actions.push_jobs import job_id_of
from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import RunJob
from tests.unit.formats.harbor_dirs import write
from tests.unit.formats.test_tau_results import record

BL = str(Path(sys.executable).parent / "bl")


def environment(folder: Path) -> dict[str, str]:
    """No home of a person, no server, and temporary files where they can be counted."""
    (folder / "tmp").mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder / "tmp"), "BENCHLOOP_HOST": "http://127.0.0.1:9"}


def analyzed(folder: Path, *argv: str) -> Any:
    """What a run that goes well prints."""
    done = subprocess.run([BL, "analyze", *argv], capture_output=True, timeout=240, env=environment(folder), cwd=folder, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def kimi(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """The real run whose verifier often did not run, analysed; and the folder of its reports."""
    folder = tmp_path_factory.mktemp("kimi")
    return analyzed(folder, str(shared_data / "harbor-kimi"), "-o", "out")[0], folder / "out"


def test_the_pass_rate_is_stated_both_ways(kimi: tuple[Any, Path]) -> None:
    found, out = kimi
    assert found["group"]["headline"] == "4 of 62 passed; 4 of 43 whose reward is valid"
    (report,) = out.glob("*_report.md")
    assert report.read_text("utf-8").startswith("**4 of 62 passed; 4 of 43 whose reward is valid**\n")


def test_trials_whose_verifier_never_ran_are_found(kimi: tuple[Any, Path]) -> None:
    jobs = kimi[0]["jobs"]
    by_sub = [job["sub_fail_reason"] for job in jobs if job["fail_reason"] == "verifier_error"]
    assert by_sub.count("verifier_bootstrap_failed") == 18 and by_sub.count("verifier_timeout") == 1
    assert all(job["fail_reason"] is None for job in jobs if job["outcome"] == "passed")


def test_the_shell_no_op_is_suspected_across_jobs(kimi: tuple[Any, Path]) -> None:
    finding = next(one for one in kimi[0]["group"]["findings"] if one["name"] == "shell_noop")
    assert finding["suspected"] and finding["jobs"]["count"] >= 40 and finding["hits"]["value"] > 0.7
    assert "suspected" in finding["says"] and "returned nothing" in finding["says"]


def test_each_job_has_its_reports(kimi: tuple[Any, Path]) -> None:
    found, out = kimi
    for job in found["jobs"]:
        places = list(out.glob(f"*/{job['job_id']}_report.*"))
        assert sorted(place.suffix for place in places) == [".json", ".md"]


def inputs(run: Path) -> Iterator[JobInput]:
    """The jobs of a run as the analysis was given them."""
    for group in open_run(run).groups:
        for job in group.jobs():
            if isinstance(job, RunJob):
                document = job.trajectory().document if job.trajectory is not None else None
                job_id = job_id_of(group.group_id, job)
                yield JobInput(job_id=job_id, facts=Facts.of(job.facts), document=document, files=texts(job.files))


def evidence_of(job: dict[str, Any]) -> list[Evidence]:
    labels = [*job["secondary"], *job["integrity"]]
    found = [*job["evidence"], *job["reward_evidence"], *(one for label in labels for one in label["evidence"])]
    return [Evidence(**one) for one in found]


def test_every_quote_stands_where_it_is_cited(kimi: tuple[Any, Path], shared_data: Path) -> None:
    given = {job.job_id: job for job in inputs(shared_data / "harbor-kimi")}
    quoted = [(job["job_id"], one) for job in kimi[0]["jobs"] for one in evidence_of(job)]
    assert len(quoted) > 100
    assert [(job_id, one) for job_id, one in quoted if not is_verbatim(one, given[job_id])] == []


def test_tau_results_are_read_too(shared_data: Path, tmp_path: Path) -> None:
    (found,) = analyzed(tmp_path, str(shared_data / "tau-bench" / "historical_trajectories" / "gpt-4o-airline.json"))
    group = found["group"]
    assert group["headline"] == "84 of 200 passed; 84 of 200 whose reward is valid"
    assert [one["k"] for one in group["pass_at_k"]] == [1, 2, 3, 4] and group["unknown"]["value"] <= 0.15


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_everything_and_leaves_nothing(tmp_path: Path, jobs: str) -> None:
    run = write(tmp_path / "m-airline.json", [record(number, trial) for number in range(1500) for trial in range(2)])
    program = subprocess.Popen(
        [BL, "analyze", str(run), "--jobs", jobs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(tmp_path), cwd=tmp_path
    )
    assert program.stderr is not None
    assert program.stderr.readline().startswith(b"[progress] reading")
    time.sleep(1)
    children = _children(program.pid)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out) == (130, b""), err
    assert len(children) == (0 if jobs == "1" else 2) and not any(Path(f"/proc/{child}").exists() for child in children)
    assert list((tmp_path / "tmp").iterdir()) == []


def _children(process: int) -> list[int]:
    if not Path("/proc").exists():
        pytest.skip("needs /proc")
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process:
            found.append(int(place.parent.name))
    return found
