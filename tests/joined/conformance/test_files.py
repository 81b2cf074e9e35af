"""Wire contract §14: which files appear, under which names, with which content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.joined.conformance.conftest import World, fails_for_want_of_job_ids
from tests.joined.conformance.protocol import REPORT, archive_of
from tests.support.programs import files_below
from tests.support.scripted import binary, of_json


def _written(world: World, out: Path, *argv: str) -> dict[str, bytes]:
    done = world.bl(*argv, "-o", str(out))
    assert done.code == 0, str(done)
    return files_below(out)


def _shown(world: World, *argv: str) -> Any:
    done = world.bl(*argv)
    assert done.code == 0, str(done)
    return done.json[0]


def _text(value: Any) -> bytes:
    """JSON as it stands in a file."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def test_metrics_j(world: World, out: Path) -> None:
    job = world.held.jobs[0]
    found = _written(world, out, "metrics", "download", "-j", job)
    assert found == {f"{job}_run_metrics.json": _text(_shown(world, "metrics", "get", "-j", job))}


def test_metrics_g(world: World, out: Path) -> None:
    group = world.held.group
    shown = _shown(world, "metrics", "get", "-g", group)
    wanted = {f"{group}/{part}_metrics.json": _text(shown[part]) for part in ("overall", "detail")}
    assert _written(world, out, "metrics", "download", "-g", group) == wanted


def test_trajectory_j(world: World, out: Path) -> None:
    job = world.held.jobs[0]
    wanted = {f"{job}_trajectory.json": _text(world.raw(f"/openapi/jobs/{job}/trajectory"))}
    assert _written(world, out, "trajectory", "download", "-j", job) == wanted


def test_trajectory_g(world: World, out: Path) -> None:
    group = world.held.group
    if fails_for_want_of_job_ids(world, "trajectory", "download", "-g", group, "-o", str(out)):
        return
    found = _written(world, out, "trajectory", "download", "-g", group)
    assert found == {f"{group}/trajectory.json": _text(_shown(world, "trajectory", "get", "-g", group))}


def test_report_j(foreign: World, out: Path) -> None:
    text = b"" if foreign.protocol is not None and foreign.protocol.shape.nulls else REPORT.encode()
    assert _written(foreign, out, "report", "download", "-j", "J1,J2") == {"J1_report.md": text, "J2_report.md": text}


def test_rsi_j(foreign: World, out: Path) -> None:
    assert _written(foreign, out, "rsi", "download", "-j", "J1") == {"J1_rsi.md": REPORT.encode()}


@pytest.mark.parametrize("resource", ["report", "rsi"])
def test_reports_g(foreign: World, out: Path, resource: str) -> None:
    if fails_for_want_of_job_ids(foreign, resource, "download", "-g", "P1", "-o", str(out)):
        return
    text = b"" if foreign.protocol is not None and foreign.protocol.shape.nulls and resource == "report" else REPORT.encode()
    wanted = dict.fromkeys((f"P1/Q1_{resource}.md", f"P1/Q2_{resource}.md", f"P1_{resource}.md"), text)
    assert _written(foreign, out, resource, "download", "-g", "P1") == wanted


@pytest.mark.parametrize("resource", ["report", "rsi"])
@pytest.mark.parametrize("answer", [{}, {"reports": []}, {"report": {}}, {"reports": None, "report": None}, {"report": {"report_md": ""}}])
def test_no_report_no_file(old: World, out: Path, resource: str, answer: Any) -> None:
    old.on("GET /openapi/jobs/{job}/" + resource, of_json(answer))
    done = old.bl(resource, "download", "-j", "J1", "-o", str(out))
    assert (done.code, files_below(out)) == (0, {})
    assert "no file written" in done.err


@pytest.mark.parametrize("resource", ["report", "rsi"])
def test_not_analysed_no_file(ours: World, out: Path, resource: str) -> None:
    done = ours.bl(resource, "download", "-g", ours.held.group, "-o", str(out))
    assert (done.code, files_below(out)) == (0, {})
    assert "not analysed yet" in done.err


def test_task_list(world: World, out: Path) -> None:
    group = world.held.group
    found = _written(world, out, "tasks", "download", "-g", group)
    assert found == {f"{group}/task_list.json": _text(_shown(world, "tasks", "get", "-g", group, "--all"))}


def test_job_list(world: World, out: Path) -> None:
    group = world.held.group
    found = _written(world, out, "jobs", "download", "-g", group)
    assert found == {f"{group}/job_list.json": _text(_shown(world, "jobs", "get", "-g", group, "--all"))}


def _archive(world: World, job: str) -> bytes:
    return world.ask("GET", f"/openapi/jobs/{job}/artifacts/download", headers={"Accept-Encoding": "identity"}).data


def test_artifacts_j(world: World, out: Path) -> None:
    job = world.held.jobs[0]
    assert _written(world, out, "artifacts", "download", "-j", job) == {f"{job}/{job}.tgz": _archive(world, job)}


def test_artifacts_g(world: World, out: Path) -> None:
    group, lone = world.held.plain, world.held.plain_jobs[-1]
    if fails_for_want_of_job_ids(world, "artifacts", "download", "-g", group, "-o", str(out)):
        return
    job = world.held.plain_jobs[0]
    done = world.bl("artifacts", "download", "-g", group, "-o", str(out))
    assert done.code == 0, str(done)
    assert files_below(out) == {f"{group}/{job}/{job}.tgz": _archive(world, job)}
    absent = f"no artifact for job={lone} (no_artifact)" if world.server is not None else f"1 of 2 job(s) in {group} have no artifact"
    assert absent in done.lines


def test_artifacts_task(world: World, out: Path) -> None:
    task = world.held.task
    wanted = {f"{task}/{job}.tgz": _archive(world, job) for job in world.held.task_jobs}
    assert _written(world, out, "artifacts", "download", "--task-id", task) == wanted


def test_zips(each: World, out: Path) -> None:
    task = each.held.task
    _written(each, out, "trajectory", "download", "--task-id", task)
    assert sorted(_written(each, out, "metadata", "download", "--task-id", task)) == [f"{task}_metadata.zip", f"{task}_trajectories.zip"]


def test_folders_are_made(each: World, out: Path) -> None:
    assert list(_written(each, out / "deep" / "er", "jobs", "download", "-g", each.held.group)) == [f"{each.held.group}/job_list.json"]


def test_files_are_laid_out_as_asked(each: World, out: Path) -> None:
    (body,) = _written(each, out, "--no-pretty", "jobs", "download", "-g", each.held.group).values()
    assert body == (json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False) + "\n").encode()


@pytest.mark.parametrize(
    ("job", "name"), [("plain-1.2_x", "plain-1.2_x"), ("a b", "a b"), ("名", "名"), ("a/b", "a%2Fb"), ("..x:y", "..x%3Ay"), ("x.", "x%2E")]
)
def test_ids_in_names(old: World, out: Path, job: str, name: str) -> None:
    old.on("GET /openapi/metrics/{job}", of_json({"metrics": {}}))
    assert list(_written(old, out, "metrics", "download", "-j", job)) == [f"{name}_run_metrics.json"]


@pytest.mark.parametrize(("name", "written"), [("a b.tgz", "a b.tgz"), ("../x.tgz", "..%2Fx.tgz"), ("/x.tgz", "%2Fx.tgz")])
def test_artifact_names(old: World, out: Path, name: str, written: str) -> None:
    old.on("GET /openapi/jobs/{job}/artifacts", of_json({"artifacts": [{"name": name, "url": "u"}]}))
    assert list(_written(old, out, "artifacts", "download", "-j", "J1")) == [f"J1/{written}"]


def test_encoded_ids_of_tasks(old: World, out: Path) -> None:
    old.on("GET /openapi/trajectory-download-tasks/{task}", of_json({"job_ids": ["a b/ü~."]}))
    old.on("GET /openapi/jobs/{job}/artifacts/download", lambda _seen: binary(archive_of("x")))
    assert list(_written(old, out, "artifacts", "download", "--task-id", "T1")) == ["T1/a%20b%2F%C3%BC~..tgz"]


def test_every_file_has_the_rights_that_the_umask_gives(each: World, out: Path) -> None:
    _written(each, out, "pull", "-g", each.held.group, "--with", "trajectory,jobs,artifacts")
    _written(each, out, "metadata", "download", "--task-id", each.held.task)
    usual = out / "usual"
    usual.touch()
    assert {path.stat().st_mode for path in out.rglob("*") if path.is_file() and ".benchloop" not in path.parts} == {usual.stat().st_mode}


def test_nothing_half_done_has_its_name(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/J2/artifacts/download", binary(archive_of("J2")[:20], length=500))
    assert old.bl("--retry", "0", "artifacts", "download", "-j", "J2", "-o", str(out)).code in (1, 4)
    assert [path for path in out.rglob("*") if path.is_file() and ".benchloop" not in path.parts] == []


def test_an_old_file_stays_until_the_new_one_is_whole(old: World, out: Path) -> None:
    _written(old, out, "artifacts", "download", "-j", "J2")
    old.on("GET /openapi/jobs/J2/artifacts/download", binary(b"\x1f\x8b", length=500))
    assert old.bl("--retry", "0", "artifacts", "download", "-j", "J2", "-o", str(out)).code in (1, 4)
    assert files_below(out) == {"J2/J2.tgz": archive_of("J2")}


def test_what_was_fetched_is_written_down(each: World, out: Path) -> None:
    _written(each, out, "metrics", "download", "-j", each.held.jobs[0])
    lines = [json.loads(line) for line in (out / ".benchloop" / "journal.jsonl").read_text().splitlines()]
    assert [line["path"] for line in lines if "path" in line] == [f"{each.held.jobs[0]}_run_metrics.json"]


# ---- pull -------------------------------------------------------------------------------------------------------------------------------


_PULLED = ("metrics", "trajectory", "report", "tasks", "jobs", "artifacts")


def test_pull_g_writes_what_the_commands_write(each: World, out: Path) -> None:
    group = each.held.plain
    pulled = _written(each, out / "pull", "pull", "-g", group, "--with", ",".join(_PULLED))
    for resource in _PULLED:
        _written(each, out / "each", resource, "download", "-g", group)
    assert pulled == files_below(out / "each")
    assert f"{group}/trajectory.json" in pulled


def test_pull_j_writes_what_the_commands_write(each: World, out: Path) -> None:
    jobs = ",".join(each.held.jobs[:2])
    pulled = _written(each, out / "pull", "pull", "-j", jobs, "--with", "metrics,trajectory,report,artifacts")
    for resource in ("metrics", "trajectory", "report", "artifacts"):
        _written(each, out / "each", resource, "download", "-j", jobs)
    assert pulled == files_below(out / "each")


def test_pull_takes_metrics_and_trajectory_by_itself(each: World, out: Path) -> None:
    job = each.held.jobs[0]
    assert sorted(_written(each, out, "pull", "-j", job)) == [f"{job}_run_metrics.json", f"{job}_trajectory.json"]


def test_pull_j_has_no_lists(each: World, out: Path) -> None:
    done = each.bl("pull", "-j", each.held.jobs[0], "--with", "tasks,jobs", "-o", str(out))
    assert (done.code, files_below(out)) == (0, {})
    assert "tasks and jobs" in done.err


def test_pull_keeps_the_order_of_resources(old: World, out: Path) -> None:
    _written(old, out, "pull", "-j", "J1", "--with", "artifacts,report,trajectory,metrics")
    assert [path.rsplit("J1", 1)[-1] for _, path, _ in old.asked()] == ["", "/trajectory", "/report", "/artifacts", "/artifacts/download"]


def test_pull_lists_jobs_once_and_only_when_needed(old: World, out: Path) -> None:
    _written(old, out, "pull", "-g", "G1", "--with", "metrics,tasks")
    assert old.asked("/openapi/jobs?") == []
    _written(old, out, "pull", "-g", "G1", "--with", "report,artifacts")
    assert len(old.asked("/openapi/jobs?")) == 1


def test_pull_knows_rsi_and_metadata(old: World, out: Path) -> None:
    found = _written(old, out, "pull", "-j", "J1", "--with", "rsi,metadata")
    assert found["J1_rsi.md"] == REPORT.encode()
    assert len(found) == 2


def test_pull_writes_the_first_report(old: World, out: Path) -> None:
    assert _written(old, out, "pull", "-j", "J1", "--with", "report") == {"J1_report.md": REPORT.encode()}
