"""The installed `bl` on a real server: reports before and after the analysis, behaviour tasks, and a pull of everything."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchloop_client import Client
from benchloop_client.samples.generator import write_samples
from tests.support.analysing import work_off
from tests.support.programs import Bl, files_below, journal
from tests.support.served import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that holds the samples: group STEPS with steps 100 and 200, group PLAIN without steps."""
    folder = tmp_path_factory.mktemp("analysis")
    write_samples(folder / "runs")
    with serving(folder / "data") as running, Client(running.url, running.key()) as client:
        for step in (100, 200):
            client.push(folder / "runs" / f"step-{step}", group="STEPS", step=step)
        client.push(folder / "runs" / "step-100", group="PLAIN")
        yield running


@pytest.fixture
def bl(served: Served, home: Path) -> Bl:
    """The client on that server."""
    return Bl(home, served.url, served.key())


def test_reports_are_asked_for_and_not_there_yet(bl: Bl, out: Path) -> None:
    asked = bl("report", "trigger", "-g", "STEPS", "--include-passed")
    assert asked.code == 0, str(asked)
    assert {name: asked.json[0][name] for name in ("group_id", "kind", "status", "include_passed")} == {
        "group_id": "STEPS",
        "kind": "report",
        "status": "queued",
        "include_passed": True,
    }
    assert bl("report", "trigger", "-g", "STEPS", "--include-passed").json == asked.json
    done = bl("report", "download", "-g", "STEPS", "-o", str(out))
    assert (done.code, done.out, files_below(out)) == (0, "", {})
    assert "no report for 1 group(s) and 44 job(s): no file written; 45 of them not analysed yet" in done.err.splitlines()


@pytest.mark.parametrize("name", ["report", "rsi"])
def test_a_wait_ends_in_time_with_1_where_no_worker_comes(bl: Bl, name: str) -> None:
    waited = bl(name, "trigger", "-g", "STEPS", "--wait", "--wait-timeout", "2", "--errors", "json")
    assert (waited.code, waited.json[0]["status"]) == (1, "queued")
    (record,) = [json.loads(line) for line in waited.err.splitlines() if line.startswith("{")]
    assert (record["id"], record["kind"], record["code"]) == ("STEPS", "not_ready", "wait_timeout")


def test_a_behaviour_task_from_start_to_list(bl: Bl) -> None:
    unsaid = bl("brm", "run", "-g", "STEPS")
    assert (unsaid.code, unsaid.out) == (2, "")
    assert "[error]   - available steps: 100, 200" in unsaid.err.splitlines()
    made = bl("brm", "run", "-g", "STEPS", "--steps", "200,100")
    assert made.code == 0, str(made)
    uid = made.json[0]["uid"]
    assert (made.json[0]["task_id"], made.json[0]["samplingMode"], made.json[0]["sampleSize"]) == (uid, "step", 512)
    assert bl("brm", "run", "-g", "STEPS", "--steps", "100,200").json[0]["uid"] == uid
    assert bl("brm", "status", "--task-id", uid).json[0]["status"] == "queued"
    found = bl("brm", "get", "--task-id", uid).json[0]
    assert (found["overall"]["summary"], found["detail"]["behaviorPatterns"], found["samplingMode"]) == (None, [], "step")
    assert [task["task_id"] for task in bl("brm", "list", "-g", "STEPS").json[0]["tasks"]] == [uid]


def test_a_group_without_steps_is_looked_at_whole(bl: Bl) -> None:
    made = bl("brm", "run", "-g", "PLAIN", "--wait", "--wait-timeout", "2")
    assert (made.code, made.json[0]["samplingMode"], made.json[0]["sampleSize"]) == (1, "all_jobs", None)
    assert "still not there after 2 s" in made.err
    assert bl("brm", "run", "-g", "NO").err.splitlines()[-1].startswith("[error] ")


def test_pull_with_every_resource(bl: Bl, out: Path) -> None:
    everything = "metrics,trajectory,report,artifacts,tasks,jobs,metadata,rsi"
    pulled = bl("pull", "-g", "PLAIN", "--with", everything, "-o", str(out))
    assert pulled.code == 0, str(pulled)
    files = files_below(out)
    assert {name for name in files if name.count("/") == 1 and name.endswith(".json") and "_metadata" not in name} == {
        f"PLAIN/{name}.json" for name in ("detail_metrics", "job_list", "overall_metrics", "task_list", "trajectory")
    }
    jobs = [job["job_id"] for job in json.loads(files["PLAIN/job_list.json"])["jobs"]]
    assert sorted(name for name in files if name.endswith("_metadata.json")) == sorted(f"PLAIN/{job}_metadata.json" for job in jobs)
    assert json.loads(files[f"PLAIN/{jobs[0]}_metadata.json"])["job_id"] == jobs[0]
    assert [line for line in pulled.err.splitlines() if line.startswith("no ")] == [
        f"no {word} for 1 group(s) and 22 job(s): no file written; 23 of them not analysed yet" for word in ("report", "weakness report")
    ]
    one = bl("pull", "-j", ",".join(jobs[:3]), "--with", everything, "-o", str(out / "jobs"))
    assert one.code == 0, str(one)
    assert "tasks and jobs: a list of a group; with -j there is nothing to fetch for it" in one.err.splitlines()
    assert f"{jobs[2]}_metadata.json" in files_below(out / "jobs")


def test_a_missing_archive_can_be_a_failure(bl: Bl, served: Served, out: Path) -> None:
    jobs = bl("jobs", "get", "-g", "PLAIN", "--all").json[0]["jobs"]
    without = [row["job_id"] for row in bl("artifacts", "download", "-g", "PLAIN", "--list-only").json if row.get("error_code")]
    task = bl("download-tasks", "create", "-g", "PLAIN").json[0]["task_id"]
    missing = len(without)
    done = bl("artifacts", "download", "--task-id", task, "-o", str(out))
    assert done.code == 0, str(done)
    assert sum(line["status"] == "placeholder" for line in journal(out)) == missing
    strict = bl("artifacts", "download", "--task-id", task, "-o", str(out), "--no-placeholder", "--skip-existing", "--errors", "json")
    assert strict.code == (1 if missing else 0), str(strict)
    assert sorted(json.loads(line)["id"] for line in strict.err.splitlines() if line.startswith("{")) == sorted(without)
    assert len(jobs) == 22


# ---- after the analysis; keep these last: the server of this file is one for all ------------------------------------------------------


@pytest.fixture
def analysed(served: Served) -> Served:
    """The server after a worker has done everything."""
    work_off(served.services)
    return served


def test_reports_are_got_downloaded_and_shown(bl: Bl, analysed: Served, out: Path) -> None:
    (group,) = bl("report", "get", "-g", "STEPS").json
    assert group["status"] == "succeeded"
    assert group["headline"] == "21 of 43 passed; 21 of 39 whose reward is valid"
    assert sum(reason["share"]["count"] for reason in group["reasons"]) == group["report"]["failed"]
    done = bl("report", "download", "-g", "STEPS", "-o", str(out))
    assert done.code == 0, str(done)
    files = files_below(out)
    assert len(files) == 45 and files["STEPS_report.md"] == group["reports"][0]["content"].encode()
    for job in bl("jobs", "get", "-g", "STEPS", "--all", "--reward-valid", "false").json[0]["jobs"]:
        (report,) = bl("report", "get", "-j", job["job_id"]).json
        assert report["reward_valid"] is False and report["fail_reason"] == job["fail_reason"]
        assert report["evidence"] == report["report"]["evidence"] and report["ruleset_version"]
        assert files[f"STEPS/{job['job_id']}_report.md"] == report["reports"][0]["content"].encode()
        table = bl("report", "get", "-j", job["job_id"], "--format", "table").out
        assert table.split()[:3] == ["job_id", "status", "fail_reason"] and str(job["sub_fail_reason"]) in table
    assert bl("report", "get", "-g", "STEPS", "--format", "table").out.splitlines()[1].endswith(group["headline"])


def test_weakness_reports(bl: Bl, analysed: Served, out: Path) -> None:
    (group,) = bl("rsi", "get", "-g", "STEPS").json
    assert (group["status"], group["report"]["tasks"]) == ("succeeded", 16)
    assert bl("rsi", "download", "-g", "STEPS", "-o", str(out)).code == 0
    assert files_below(out)["STEPS_rsi.md"] == group["report"]["summary_md"].encode()


def test_a_trigger_waits_for_what_is_there(bl: Bl, analysed: Served) -> None:
    began = time.monotonic()
    waited = bl("report", "trigger", "-g", "STEPS", "--include-passed", "--wait")
    assert (waited.code, waited.json[0]["status"]) == (0, "succeeded"), str(waited)
    assert waited.json[0]["reports"] and time.monotonic() - began < 60


def test_jobs_are_chosen_by_reason(bl: Bl, analysed: Served, out: Path) -> None:
    jobs = bl("jobs", "get", "-g", "STEPS", "--all").json[0]["jobs"]
    reason = next(job["fail_reason"] for job in jobs if job["fail_reason"])
    wanted = {job["job_id"] for job in jobs if job["fail_reason"] == reason}
    assert {job["job_id"] for job in bl("jobs", "get", "-g", "STEPS", "--all", "--fail-reason", reason).json[0]["jobs"]} == wanted
    done = bl("report", "download", "-g", "STEPS", "--fail-reason", reason, "-o", str(out))
    assert done.code == 0, str(done)
    assert {name.removeprefix("STEPS/").removesuffix("_report.md") for name in files_below(out) if "/" in name} == wanted
    counts = bl("overview", "get", "-g", "STEPS", "--scope", "summary").json[0]["summary"]["fail_reasons"]
    assert sum(row["jobs"] for row in counts if row["fail_reason"] == reason) == len(wanted)
