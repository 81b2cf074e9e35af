"""Wire contract §2: each call is made as documented where `bl` uses it, and answered as documented by our server."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.joined.conformance.conftest import World
from tests.joined.conformance.protocol import PNG, archive_of
from tests.joined.conformance.running import Bl
from tests.support.programs import files_below
from tests.support.scripted import binary, error, of_json, scripted


def _asked(world: World, *wanted: tuple[str, str, dict[str, str]]) -> None:
    """The scripted server saw these requests and no others, in any order."""
    if world.server is not None:
        assert sorted(world.asked(), key=str) == sorted(wanted, key=str)


def _ok(world: World, *argv: str) -> list[object]:
    done = world.bl(*argv)
    assert done.code == 0, str(done)
    found: list[object] = done.json if done.out else []
    return found


def test_e1_metrics_of_a_job(each: World) -> None:
    job = each.held.jobs[0]
    found = _ok(each, "metrics", "get", "-j", job)
    _asked(each, ("GET", f"/openapi/metrics/{job}", {}))
    raw = each.raw(f"/openapi/metrics/{job}", source="trace")
    assert raw.keys() >= {"job_id", "metrics", "run_metrics", "tokenized_metrics"}
    assert found == [{name: raw[name] for name in ("job_id", "metrics", "run_metrics", "tokenized_metrics")}]


def test_e2_metrics_of_a_groups_jobs(each: World) -> None:
    group = each.held.group
    _ok(each, "metrics", "get", "-g", group, "--scope", "detail")
    _asked(each, ("GET", "/openapi/metrics", {"group_id": group, "skip": "0", "limit": "1000"}))
    raw = each.raw("/openapi/metrics", group_id=group, skip=1, limit=2, source="trace")
    assert raw["total"] == len(each.held.jobs)
    assert [row["job_id"] for row in raw["metrics"]] == list(each.held.jobs[1:3])


def test_e3_metrics_of_a_group(each: World) -> None:
    group = each.held.group
    _ok(each, "metrics", "get", "-g", group, "--scope", "overall")
    _asked(each, ("GET", f"/openapi/groups/{group}/metrics/overall", {}))
    raw = each.raw(f"/openapi/groups/{group}/metrics/overall", source="trace")
    assert raw.keys() >= {"group_id", "run_metrics", "tokenized_metrics"}


def test_e4_a_group_that_lists_nothing_is_looked_up(each: World) -> None:
    empty = each.held.empty
    assert _ok(each, "metrics", "get", "-g", empty, "--scope", "detail") != []
    _asked(each, ("GET", "/openapi/metrics", {"group_id": empty, "skip": "0", "limit": "1000"}), ("GET", f"/openapi/groups/{empty}", {}))
    assert each.raw(f"/openapi/groups/{empty}")["group_id"] == empty
    assert each.ask("GET", "/openapi/groups/nowhere").status == 404
    assert each.bl("metrics", "get", "-g", "nowhere", "--scope", "detail").code == 1


def test_e5_summary_of_a_group(each: World) -> None:
    group = each.held.group
    found = _ok(each, "overview", "get", "-g", group, "--scope", "summary")
    _asked(each, ("GET", f"/openapi/groups/{group}/eval_summary", {}))
    assert found == [{"group_id": group, "summary": each.raw(f"/openapi/groups/{group}/eval_summary")}]


def test_e6_tasks_of_a_group(each: World) -> None:
    group, path = each.held.group, f"/openapi/groups/{each.held.group}/eval_tasks"
    _ok(each, "overview", "get", "-g", group, "--scope", "tasks")
    _ok(each, "tasks", "get", "-g", group)
    _ok(each, "tasks", "get", "-g", group, "--search", "task", "--status", "passed")
    page = {"skip": "0", "limit": "50"}
    _asked(each, ("GET", path, {}), ("GET", path, page), ("GET", path, {**page, "search": "task", "status": "passed"}))
    raw = each.raw(path)
    assert [row["task_id"] for row in raw["tasks"]] == list(each.held.tasks)
    assert raw["total"] == len(each.held.tasks)


def test_e7_jobs_of_a_group(each: World) -> None:
    group = each.held.group
    _ok(each, "jobs", "get", "-g", group)
    filters = {"template": "t", "status": "completed", "instance_id": "i"}
    each.bl("jobs", "get", "-g", group, "--template", "t", "--status", "completed", "--instance-id", "i")
    page = {"group_id": group, "skip": "0", "limit": "50"}
    if each.server is not None:
        assert each.asked("/openapi/jobs?")[:2] == [("GET", "/openapi/jobs", page), ("GET", "/openapi/jobs", {**page, **filters})]
    raw = each.raw("/openapi/jobs", group_id=group, skip=1, limit=2)
    assert raw["total"] == len(each.held.jobs)
    assert [row["job_id"] for row in raw["jobs"]] == list(each.held.jobs[1:3])
    assert all(row["created_at"] for row in raw["jobs"])


def test_e8_a_job(each: World) -> None:
    job = each.held.jobs[0]
    found = _ok(each, "overview", "get", "-j", job)
    raw = each.raw(f"/openapi/jobs/{job}")
    assert found[0]["job"] == raw  # type: ignore[index]
    assert (raw["job_id"], raw["group_id"]) == (job, each.held.group)


def test_e9_statistics(each: World) -> None:
    job = each.held.jobs[0]
    found = _ok(each, "overview", "get", "-j", job)
    _asked(each, ("GET", f"/openapi/jobs/{job}", {}), ("GET", "/openapi/jobs/stats", {"group_id": each.held.group}))
    assert found[0]["stats"] == each.raw("/openapi/jobs/stats", group_id=each.held.group)  # type: ignore[index]
    assert isinstance(each.raw("/openapi/jobs/stats"), dict)


def test_e10_trajectory_of_a_job(each: World) -> None:
    job = each.held.jobs[0]
    found = _ok(each, "trajectory", "get", "-j", job)
    _asked(each, ("GET", f"/openapi/jobs/{job}/trajectory", {}))
    assert found == [each.raw(f"/openapi/jobs/{job}/trajectory", source="trace")]


def _group_trajectories(world: World, *never: str) -> None:
    """The trajectories of a group arrive, and none of these calls was made for it."""
    found = _ok(world, "trajectory", "get", "-g", world.held.group)
    assert [row["trajectory_id"] for row in found[0]["trajectories"]] == list(world.held.jobs)  # type: ignore[index]
    if world.server is not None:
        assert [seen.path for seen in world.scripted.asked() if any(part in seen.path for part in never)] == []


def test_e11_trajectories_of_a_group(each: World) -> None:
    group = each.held.group
    _group_trajectories(each, f"{group}/trajectory")
    if each.server is None:
        raw = each.raw(f"/openapi/groups/{group}/trajectory")
        assert [row["trajectory_id"] for row in raw["trajectories"]] == list(each.held.jobs)


def test_e12_export_of_a_group(each: World) -> None:
    _group_trajectories(each, "trace-trajectory")
    if each.server is None:
        raw = each.raw(f"/openapi/groups/{each.held.group}/trace-trajectory/download", source="trace")
        assert raw["status"] == "succeeded"
        assert raw["download_url"].startswith("/openapi/")


def test_e13_state_of_an_export(each: World) -> None:
    _group_trajectories(each, "trace-trajectory")
    if each.server is None:
        path = f"/openapi/groups/{each.held.group}/trace-trajectory/download"
        started = each.raw(path)
        assert each.raw(f"{path}/{started['download_job_name']}")["status"] == "succeeded"


def test_e14_file_of_an_export(each: World) -> None:
    _group_trajectories(each, "trace-trajectory")
    if each.server is None:
        url = each.raw(f"/openapi/groups/{each.held.group}/trace-trajectory/download")["download_url"]
        answer = each.ask("GET", url, headers={"Accept-Encoding": "gzip, deflate"})
        assert answer.status == 200
        assert "text/html" not in answer.headers["content-type"]
        assert answer.headers["content-length"].isdigit()
        assert [json.loads(line)["job_id"] for line in answer.data.splitlines()] == list(each.held.jobs)


def test_e15_job_ids_of_a_group(each: World) -> None:
    _group_trajectories(each, "job-ids")
    if each.server is None:
        assert each.raw(f"/openapi/groups/{each.held.group}/job-ids")["job_ids"] == list(each.held.jobs)


def test_e16_media_file(each: World, out: Path) -> None:
    assert each.bl("trajectory", "download", "--task-id", each.held.media_task, "-o", str(out)).code == 0
    with ZipFile(out / f"{each.held.media_task}_trajectories.zip") as archive:
        job = each.held.plain_jobs[0]
        assert archive.read(f"source/{job}/a.png") == PNG
    if each.server is not None:
        query = {"ossUri": "oss://bucket/shots/a.png", "mime": "image/png"}
        assert each.asked("mediaFile") == [("GET", "/openapi/getTrajV2/mediaFile", query)]


def test_e17_report_of_a_job(each: World) -> None:
    job = each.held.jobs[0]
    assert _ok(each, "report", "get", "-j", job) == [each.raw(f"/openapi/jobs/{job}/report")]
    _asked(each, ("GET", f"/openapi/jobs/{job}/report", {}))
    assert isinstance(each.raw(f"/openapi/jobs/{job}/report")["reports"], list)


def test_e18_report_of_a_group(each: World) -> None:
    group = each.held.group
    assert _ok(each, "report", "get", "-g", group) == [each.raw(f"/openapi/groups/{group}/report")]
    _asked(each, ("GET", f"/openapi/groups/{group}/report", {}))


def _triggered(world: World, resource: str, flag: str, path: str, body: dict[str, object], *more: str) -> None:
    found = _ok(world, resource, "trigger", flag, path.split("/")[3], *more)
    assert len(found) == 1
    if world.server is not None:
        seen = world.scripted.asked("/trigger")
        assert [(one.method, one.path, json.loads(one.body)) for one in seen] == [("POST", path, body)]
    else:
        again = world.ask("POST", path, json=body)
        assert (again.status, json.loads(again.data)) == (200, found[0])


def test_e19_a_report_of_a_job_is_asked_for(each: World) -> None:
    _triggered(each, "report", "-j", f"/openapi/jobs/{each.held.jobs[0]}/report/trigger", {})


def test_e20_a_report_of_a_group_is_asked_for(each: World) -> None:
    path = f"/openapi/groups/{each.held.group}/report/trigger"
    _triggered(each, "report", "-g", path, {"include_passed": False})
    each.server is None or each.scripted.seen.clear()
    _triggered(each, "report", "-g", path, {"include_passed": True}, "--include-passed")


def test_e21_weakness_report_of_a_job(each: World) -> None:
    job = each.held.jobs[0]
    assert _ok(each, "rsi", "get", "-j", job) == [each.raw(f"/openapi/jobs/{job}/rsi")]
    _asked(each, ("GET", f"/openapi/jobs/{job}/rsi", {}))


def test_e22_weakness_report_of_a_group(each: World) -> None:
    group = each.held.group
    assert _ok(each, "rsi", "get", "-g", group) == [each.raw(f"/openapi/groups/{group}/rsi")]
    _asked(each, ("GET", f"/openapi/groups/{group}/rsi", {}))


def test_e23_a_weakness_report_of_a_job_is_asked_for(each: World) -> None:
    _triggered(each, "rsi", "-j", f"/openapi/jobs/{each.held.jobs[0]}/rsi/trigger", {})


def test_e24_a_weakness_report_of_a_group_is_asked_for(each: World) -> None:
    _triggered(each, "rsi", "-g", f"/openapi/groups/{each.held.group}/rsi/trigger", {"include_passed": False})


def test_e25_artifacts_of_a_job(each: World) -> None:
    job = each.held.jobs[0]
    _ok(each, "artifacts", "download", "-j", job, "--list-only")
    _asked(each, ("GET", f"/openapi/jobs/{job}/artifacts", {}))
    rows = each.raw(f"/openapi/jobs/{job}/artifacts")["artifacts"]
    assert [(row["name"], bool(row["url"])) for row in rows] == [(f"{job}.tgz", True)]
    lone = each.held.plain_jobs[-1]
    rows = each.raw(f"/openapi/jobs/{lone}/artifacts")["artifacts"]
    assert [(row["url"] or "", row["error_code"]) for row in rows] == [("", "no_artifact")]


def test_e26_archive_of_a_job(each: World, out: Path) -> None:
    job, path = each.held.jobs[0], f"/openapi/jobs/{each.held.jobs[0]}/artifacts/download"
    _ok(each, "artifacts", "download", "-j", job, "-o", str(out))
    answer = each.ask("GET", path, headers={"Accept": "application/json", "Accept-Encoding": "gzip, deflate"}, decode_content=False)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/gzip")
    assert "content-encoding" not in answer.headers
    assert files_below(out) == {f"{job}/{job}.tgz": answer.data}
    assert int(answer.headers["content-length"]) == len(answer.data)
    assert each.ask("GET", f"/openapi/jobs/{each.held.plain_jobs[-1]}/artifacts/download").status == 404


def test_e27_addresses_in_the_list(old: World, out: Path) -> None:
    """One name: E26, whatever the address. Several: each from its own address."""
    entries = [{"name": "a.tgz", "url": "/openapi/files/a"}]
    old.on("GET /openapi/jobs/{job}/artifacts", lambda _seen: of_json({"artifacts": entries}))
    old.on("GET /openapi/files/{name}", lambda seen: binary(archive_of(seen.path_ids["name"])))
    assert old.bl("artifacts", "download", "-j", "J1", "-o", str(out)).code == 0
    entries.append({"name": "b.tgz", "url": "openapi/files/b"})
    done = old.bl("artifacts", "download", "-j", "J2", "-o", str(out))
    assert done.code == 0, str(done)
    assert files_below(out) == {"J1/a.tgz": archive_of("J1"), "J2/a.tgz": archive_of("a"), "J2/b.tgz": archive_of("b")}


def test_e27_another_server_never_gets_the_key(old: World, out: Path) -> None:
    with scripted() as store:
        store.on("GET /b", binary(archive_of("b")))
        entries = [{"name": "a.tgz", "url": "/openapi/jobs/J1/artifacts/download"}, {"name": "b.tgz", "url": f"{store.origin}/b"}]
        old.on("GET /openapi/jobs/{job}/artifacts", of_json({"artifacts": entries}))
        old.bl("artifacts", "download", "-j", "J1", "-o", str(out))
        assert [seen.key for seen in store.seen if seen.key is not None] == []


def test_e28_download_task(each: World, out: Path) -> None:
    task = each.held.task
    assert each.bl("metadata", "download", "--task-id", task, "-o", str(out)).code == 0
    assert each.server is None or each.asked("download-tasks") == [("GET", f"/openapi/trajectory-download-tasks/{task}", {})]
    raw = each.raw(f"/openapi/trajectory-download-tasks/{task}")
    assert [job for job in dict.fromkeys(job.strip() for job in raw["job_ids"]) if job] == list(each.held.task_jobs)
    assert each.ask("GET", "/openapi/trajectory-download-tasks/nowhere").status == 404


def test_e29_metadata_of_a_job(each: World, out: Path) -> None:
    task, job = each.held.task, each.held.task_jobs[0]
    assert each.bl("metadata", "download", "--task-id", task, "-o", str(out)).code == 0
    with ZipFile(out / f"{task}_metadata.zip") as archive:
        assert json.loads(archive.read(f"metadata/{job}.json")) == each.raw(f"/openapi/jobs/{job}/meta")


def test_e30_steps_of_a_group(each: World) -> None:
    _ok(each, "brm", "run", "-g", each.held.plain)
    assert each.server is None or each.asked("/steps") == [("GET", "/openapi/behavior/steps", {"group_id": each.held.plain})]
    raw = each.raw("/openapi/behavior/steps", group_id=each.held.group)
    assert raw["steps"] == list(each.held.steps)
    assert raw.get("samplingMode", raw.get("sampling_mode")) == "step"


@pytest.mark.parametrize(
    ("answer", "mode"),
    [
        ({"samplingMode": "step", "steps": []}, "step"),
        ({"sampling_mode": "step", "hasStep": False}, "step"),
        ({"samplingMode": "all_jobs", "sampling_mode": "step", "steps": [1]}, "all_jobs"),
        ({"sampling_mode": "whole", "has_step": True, "steps": [1]}, "all_jobs"),
        ({"samplingMode": "", "sampling_mode": 1, "hasStep": True}, "step"),
        ({"hasStep": False, "has_step": True, "steps": [1]}, "all_jobs"),
        ({"has_step": False, "steps": [1]}, "all_jobs"),
        ({"hasStep": "yes", "steps": []}, "all_jobs"),
        ({"steps": [1]}, "step"),
        ({"steps": [True, "1", 1.5, None, {"step": "x"}]}, "all_jobs"),
        ({"steps": "1"}, "all_jobs"),
        ({}, "all_jobs"),
    ],
)
def test_e30_spellings_of_the_mode(old: World, answer: dict[str, object], mode: str) -> None:
    """Without steps, a group that is looked at by step is wrong usage, and any other is started as a whole."""
    old.on("GET /openapi/behavior/steps", of_json(answer))
    assert old.bl("brm", "run", "-g", "G1").code == (2 if mode == "step" else 0)


@pytest.mark.parametrize("steps", [[7], [7.0], [{"step": 7}], [{"step": "7"}], [None, {"step": 7.0}, 8]])
def test_e30_spellings_of_a_step(old: World, steps: list[object]) -> None:
    old.on("GET /openapi/behavior/steps", of_json({"steps": steps}))
    assert old.bl("brm", "run", "-g", "G1", "--steps", "7").code == 0
    assert old.bl("brm", "run", "-g", "G1", "--steps", "9").code == 2


@pytest.mark.parametrize("answer", [[1], "step", None])
def test_e30_of_no_object_is_a_failure(old: World, answer: object) -> None:
    old.on("GET /openapi/behavior/steps", of_json(answer))
    assert old.bl("brm", "run", "-g", "G1").code == 1


def test_e31_a_behaviour_task_is_started(each: World) -> None:
    step = str(each.held.steps[0])
    found = _ok(each, "brm", "run", "-g", each.held.group, "--steps", step)
    assert found[0]["uid"]  # type: ignore[index]
    plain = _ok(each, "brm", "run", "-g", each.held.plain, "--scoring-limit", "5")
    if each.server is not None:
        bodies = [json.loads(seen.body) for seen in each.scripted.seen if seen.method == "POST"]
        assert bodies == [
            {"groupId": each.held.group, "steps": [int(step)], "scoringLimit": 32, "sampleSize": 512},
            {"groupId": each.held.plain, "steps": [], "scoringLimit": 5},
        ]
    else:
        assert _ok(each, "brm", "run", "-g", each.held.plain, "--scoring-limit", "5") == plain, "asked again, it is the same task"


def test_e32_behaviour_tasks_of_a_group(each: World) -> None:
    group = each.held.group
    found = _ok(each, "brm", "list", "-g", group)
    _asked(each, ("GET", "/openapi/behavior/tasks", {"group_id": group}))
    assert each.held.uid in [task["uid"] for task in found[0]["tasks"]]  # type: ignore[index]
    assert each.held.uid in [task["uid"] for task in each.raw("/openapi/behavior/tasks", group_id=group)["tasks"]]


def test_e33_a_behaviour_task(each: World) -> None:
    uid = each.held.uid
    found = _ok(each, "brm", "status", "--task-id", uid)
    _asked(each, ("GET", f"/openapi/behavior/tasks/{uid}", {}))
    assert found[0]["status"] == each.raw(f"/openapi/behavior/tasks/{uid}")["status"]  # type: ignore[index]
    assert each.server is not None or each.ask("GET", "/openapi/behavior/tasks/nowhere").status == 404


def test_e34_findings_of_a_behaviour_task(each: World) -> None:
    uid = each.held.uid
    _ok(each, "brm", "get", "--task-id", uid, "--scope", "overall")
    _asked(each, ("GET", f"/openapi/behavior/tasks/{uid}/analysis", {}))
    assert each.raw(f"/openapi/behavior/tasks/{uid}/analysis").keys() >= {"uid", "summary", "categoryScores", "behaviorPatterns"}


def test_e35_the_host_is_not_probed(bl: Bl) -> None:
    """Neither over https, whose failure stays one, nor in clear text after it."""
    with scripted("both") as server:
        server.fallback = lambda _seen: error(500, "nobody may ask this")
        done = bl.but(host=server.origin)("--retry", "0", "metrics", "get", "-j", "J1")
        assert (done.code, server.seen) == (4, []), str(done)
    assert "certificate" in done.err
