"""Wire contract §13: what stands on stdout, on our server and on servers of every shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.contract import metrics as names
from tests.joined.conformance.conftest import World, fails_for_want_of_job_ids
from tests.joined.conformance.protocol import Shape
from tests.joined.conformance.running import Ran
from tests.support.scripted import Answer, error, of_json

_JOB_METRICS = ("metrics", "run_metrics", "tokenized_metrics")


def _array(world: World, *argv: str) -> list[Any]:
    """One JSON array with a line end, and nothing else."""
    done = world.bl(*argv)
    assert done.code == 0, str(done)
    assert done.out.endswith("]\n")
    found: list[Any] = done.json
    assert isinstance(found, list)
    return found


def _all(world: World, path: str, rows: str, **query: Any) -> list[Any]:
    """Every row of a list, however the server pages."""
    found: list[Any] = []
    while True:
        page = world.raw(path, **query, skip=len(found), limit=1000)[rows]
        found += page
        if not page:
            return found


def test_metrics_get_j(world: World) -> None:
    jobs = world.held.jobs[:2]
    raw = [world.raw(f"/openapi/metrics/{job}") for job in jobs]
    wanted = [
        {"job_id": one.get("job_id", job), **{name: one.get(name) for name in _JOB_METRICS}} for job, one in zip(jobs, raw, strict=True)
    ]
    assert _array(world, "metrics", "get", "-j", ",".join(jobs)) == wanted


@pytest.mark.parametrize("answer", [[1, 2], "text", 7])
def test_metrics_get_j_of_no_object(old: World, answer: Any) -> None:
    old.on("GET /openapi/metrics/{job}", of_json(answer))
    assert _array(old, "metrics", "get", "-j", "J1") == [
        {"job_id": "J1", "metrics": answer, "run_metrics": None, "tokenized_metrics": None}
    ]


def test_metrics_get_g(world: World) -> None:
    group = world.held.group
    (found,) = _array(world, "metrics", "get", "-g", group)
    raw = world.raw(f"/openapi/groups/{group}/metrics/overall")
    rows = _all(world, "/openapi/metrics", "metrics", group_id=group)
    tokens = world.raw("/openapi/metrics", group_id=group).get("tokenized_metrics")
    assert list(found) == ["group_id", "overall", "detail"]
    overall = {"group_id": raw.get("group_id", group), **{name: raw.get(name) for name in ("run_metrics", "tokenized_metrics")}}
    assert found == {
        "group_id": group,
        "overall": overall,
        "detail": {"group_id": group, "total": len(world.held.jobs), "metrics": rows, "tokenized_metrics": tokens},
    }


def test_metrics_get_g_of_no_object(old: World) -> None:
    old.on("GET /openapi/groups/{group}/metrics/overall", of_json([1]))
    assert _array(old, "metrics", "get", "-g", "G1", "--scope", "overall") == [{"group_id": "G1", "overall": [1]}]


def test_group_metrics_begin_with_the_documented_names_in_their_order(each: World) -> None:
    (found,) = _array(each, "metrics", "get", "-g", each.held.group, "--scope", "overall")
    for kind, wanted in (("run_metrics", tuple(names.GROUP_RUN)), ("tokenized_metrics", names.group_token_names())):
        shown = list(found["overall"][kind])
        documented = [name for name in wanted if name in shown]
        assert shown[: len(documented)] == documented


def test_group_metrics_of_the_server_itself_stay(old: World) -> None:
    (found,) = _array(old, "metrics", "get", "-g", "G1", "--scope", "overall")
    assert found["overall"]["run_metrics"]["own_metric"] == 7
    assert found["overall"]["tokenized_metrics"]["own_tokens"] == 4


def test_trajectory_get_j(world: World) -> None:
    jobs = world.held.jobs[:2]
    wanted = [world.raw(f"/openapi/jobs/{job}/trajectory") for job in jobs]
    assert _array(world, "trajectory", "get", "-j", ",".join(jobs)) == wanted


def test_trajectory_get_g(world: World) -> None:
    if fails_for_want_of_job_ids(world, "trajectory", "get", "-g", world.held.group):
        return
    wanted = [world.raw(f"/openapi/jobs/{job}/trajectory") for job in world.held.jobs]
    assert _array(world, "trajectory", "get", "-g", world.held.group) == [{"group_id": world.held.group, "trajectories": wanted}]


@pytest.mark.parametrize("resource", ["report", "rsi"])
def test_report_and_rsi_get(world: World, resource: str) -> None:
    jobs, group = world.held.jobs[:2], world.held.group
    assert _array(world, resource, "get", "-j", ",".join(jobs)) == [world.raw(f"/openapi/jobs/{job}/{resource}") for job in jobs]
    assert _array(world, resource, "get", "-g", group) == [world.raw(f"/openapi/groups/{group}/{resource}")]


@pytest.mark.parametrize("resource", ["report", "rsi"])
def test_triggers(world: World, resource: str) -> None:
    job, group = world.held.jobs[0], world.held.group
    found = _array(world, resource, "trigger", "-j", job) + _array(world, resource, "trigger", "-g", group)
    paths = [f"/openapi/jobs/{job}/{resource}/trigger", f"/openapi/groups/{group}/{resource}/trigger"]
    bodies: list[dict[str, Any]] = [{}, {"include_passed": False}]
    assert found == [json.loads(world.ask("POST", path, json=body).data) for path, body in zip(paths, bodies, strict=True)]


def test_overview_get_j(world: World) -> None:
    job = world.held.jobs[0]
    raw = world.raw(f"/openapi/jobs/{job}")
    query = {"group_id": raw["group_id"]} if raw.get("group_id") else {}
    assert _array(world, "overview", "get", "-j", job) == [{"job_id": job, "job": raw, "stats": world.raw("/openapi/jobs/stats", **query)}]


def test_overview_get_g(world: World) -> None:
    group = world.held.group
    wanted = {
        "group_id": group,
        "summary": world.raw(f"/openapi/groups/{group}/eval_summary"),
        "tasks": world.raw(f"/openapi/groups/{group}/eval_tasks"),
    }
    assert _array(world, "overview", "get", "-g", group) == [wanted]


@pytest.mark.parametrize("kind", ["jobs", "tasks"])
def test_one_page(world: World, kind: str) -> None:
    group = world.held.group
    path, query = ("/openapi/jobs", {"group_id": group}) if kind == "jobs" else (f"/openapi/groups/{group}/eval_tasks", {})
    raw = world.raw(path, **query, skip=1, limit=1)
    assert _array(world, kind, "get", "-g", group, "--page", "2", "--page-size", "1") == [{"group_id": group, **raw}]


@pytest.mark.parametrize("kind", ["jobs", "tasks"])
def test_one_page_of_no_object(old: World, kind: str) -> None:
    old.on("GET /openapi/jobs", of_json([1]))
    old.on("GET /openapi/groups/{group}/eval_tasks", of_json([1]))
    assert _array(old, kind, "get", "-g", "G1") == [{"group_id": "G1", "data": [1]}]


def test_a_page_may_name_its_group(old: World) -> None:
    old.on("GET /openapi/jobs", of_json({"group_id": "other", "jobs": [{}]}))
    assert _array(old, "jobs", "get", "-g", "G1") == [{"group_id": "other", "jobs": [{}]}]


@pytest.mark.parametrize("kind", ["jobs", "tasks"])
def test_all_pages(world: World, kind: str) -> None:
    group = world.held.group
    path, query = ("/openapi/jobs", {"group_id": group}) if kind == "jobs" else (f"/openapi/groups/{group}/eval_tasks", {})
    rows = _all(world, path, kind, **query)
    assert rows
    assert _array(world, kind, "get", "-g", group, "--all", "--page-size", "2") == [{"group_id": group, "total": len(rows), kind: rows}]


@pytest.mark.parametrize("argv", [("jobs", "get", "--all"), ("tasks", "get", "--all"), ("metrics", "get", "--scope", "detail")])
def test_a_short_page_does_not_end_a_list(in_shape: Callable[[Shape], World], argv: tuple[str, ...]) -> None:
    """A server that gives two rows a page, whatever was asked for, and does not say how many there are."""
    world = in_shape(Shape("capped", cap=2, totals=False))
    (found,) = _array(world, *argv, "-g", world.held.group)
    found = found.get("detail", found)
    rows = found[argv[0]]
    assert len(rows) == found["total"] == len(world.held.tasks if argv[0] == "tasks" else world.held.jobs)


def test_total_is_the_servers(old: World) -> None:
    """Only a server whose total and rows agree is believed to have sent all of them."""
    (found,) = _array(old, "jobs", "get", "-g", "G1", "--all")
    assert found["total"] == len(old.held.jobs)


def _artifact_rows(world: World, jobs: tuple[str, ...], **more: str) -> list[dict[str, Any]]:
    raw = [(job, row) for job in jobs for row in world.raw(f"/openapi/jobs/{job}/artifacts")["artifacts"]]
    return [{**row, "job_id": job, **more} for job, row in raw]


def _without_members(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "members"} for row in rows]


def test_list_only(world: World) -> None:
    lone = world.held.plain_jobs[-1]
    found = _array(world, "artifacts", "download", "-j", f"{world.held.jobs[0]},{lone}", "--list-only")
    assert _without_members(found) == _without_members(_artifact_rows(world, (world.held.jobs[0], lone)))


def test_list_only_of_a_group(world: World) -> None:
    if fails_for_want_of_job_ids(world, "artifacts", "download", "-g", world.held.group, "--list-only"):
        return
    group = world.held.group
    found = _array(world, "artifacts", "download", "-g", group, "--list-only")
    assert _without_members(found) == _without_members(_artifact_rows(world, world.held.jobs, group_id=group))


def test_list_only_of_a_task(world: World) -> None:
    found = _array(world, "artifacts", "download", "--task-id", world.held.task, "--list-only")
    assert _without_members(found) == _without_members(_artifact_rows(world, world.held.task_jobs))


def test_brm_run(world: World) -> None:
    for group, steps, mode in ((world.held.group, ["--steps", str(world.held.steps[0])], "step"), (world.held.plain, [], "all_jobs")):
        (found,) = _array(world, "brm", "run", "-g", group, *steps)
        assert (found["group_id"], found["samplingMode"], found["task_id"]) == (group, mode, found["uid"])


def test_brm_run_keeps_the_servers_words(old: World) -> None:
    answer = {"uid": "u", "group_id": "its", "samplingMode": "its own", "task_id": "t", "more": 1}
    old.on("POST /openapi/behavior/tasks", of_json(answer))
    assert _array(old, "brm", "run", "-g", "P1") == [answer]
    old.on("POST /openapi/behavior/tasks", of_json("queued"))
    assert _array(old, "brm", "run", "-g", "P1") == [{"result": "queued", "group_id": "P1", "samplingMode": "all_jobs"}]


def test_brm_status(world: World) -> None:
    uid = world.held.uid
    wanted = {**world.raw(f"/openapi/behavior/tasks/{uid}"), "task_id": uid}
    assert _array(world, "brm", "status", "--task-id", uid) == [wanted]
    assert _array(world, "brm", "get", "--task-id", uid, "--scope", "status") == [wanted]


def test_brm_status_of_no_object(old: World) -> None:
    old.on("GET /openapi/behavior/tasks/{uid}", of_json("running"))
    assert _array(old, "brm", "status", "--task-id", "b1") == [{"result": "running", "uid": "b1", "task_id": "b1"}]


def _findings(world: World) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    uid = world.held.uid
    raw = world.raw(f"/openapi/behavior/tasks/{uid}/analysis")
    about = {"task_id": uid, "uid": raw["uid"]}
    overall = {**about, "summary": raw["summary"], "categoryScores": raw["categoryScores"]}
    return overall, {**about, "behaviorPatterns": raw["behaviorPatterns"]}, raw


def test_brm_get_overall_and_detail(world: World) -> None:
    overall, detail, _ = _findings(world)
    assert _array(world, "brm", "get", "--task-id", world.held.uid, "--scope", "overall") == [overall]
    assert _array(world, "brm", "get", "--task-id", world.held.uid, "--scope", "detail") == [detail]


def test_brm_get_all(world: World) -> None:
    uid = world.held.uid
    overall, detail, raw = _findings(world)
    status = {**world.raw(f"/openapi/behavior/tasks/{uid}"), "task_id": uid}
    mode = raw.get("samplingMode", raw.get("sampling_mode"))
    wanted = {"task_id": uid, "uid": raw["uid"], "status": status, "overall": overall, "detail": detail}
    assert _array(world, "brm", "get", "--task-id", uid) == [wanted | ({"samplingMode": mode} if mode else {})]


def test_brm_get_all_needs_both(old: World) -> None:
    old.on("GET /openapi/behavior/tasks/{uid}", error(404, "gone"))
    done = old.bl("brm", "get", "--task-id", "b1")
    assert (done.code, done.json) == (1, [])


def test_brm_list(world: World) -> None:
    (found,) = _array(world, "brm", "list", "-g", world.held.group)
    raw = world.raw("/openapi/behavior/tasks", group_id=world.held.group)
    tasks = raw if isinstance(raw, list) else raw.get("tasks", [raw])
    assert found == {"group_id": world.held.group, "total": len(tasks), "tasks": [{**task, "task_id": task["uid"]} for task in tasks]}


@pytest.mark.parametrize("answer", ["text", None, 7])
def test_brm_list_of_nothing(old: World, answer: Any) -> None:
    old.on("GET /openapi/behavior/tasks", of_json(answer))
    assert _array(old, "brm", "list", "-g", "G1") == [{"group_id": "G1", "total": 0, "tasks": []}]


# ---- the array ------------------------------------------------------------------------------------------------------------------------


_GETS = ["metrics get", "trajectory get", "report get", "rsi get", "overview get", "report trigger", "artifacts download --list-only"]


def _get(world: World, command: str, jobs: str) -> Ran:
    return world.bl("--retry", "0", *command.split(), "-j", jobs)


@pytest.mark.parametrize("command", _GETS)
def test_an_array_also_when_all_fail(each: World, command: str) -> None:
    done = _get(each, command, "nope1,nope2")
    assert (done.code, done.out) == (1, "[]\n")


@pytest.mark.parametrize("command", _GETS)
def test_a_refused_key_prints_nothing(old: World, ours: World, command: str) -> None:
    refused = ours.bl.but(key="blk_of_somebody_else")
    old.refuse()
    for done in (_get(old, command, "J1,J2"), refused(*command.split(), "-j", "q1")):
        assert (done.code, done.out) == (3, "")


def test_elements_keep_the_order_asked_for(old: World) -> None:
    slow = {"J1": 0.05, "J2": 0.0, "J3": 0.02}
    old.on("GET /openapi/metrics/{job}", lambda seen: of_json({"job_id": seen.path_ids["job"]}, delay=slow[seen.path_ids["job"]]))
    assert [row["job_id"] for row in _array(old, "metrics", "get", "-j", "J1,J2,J3")] == ["J1", "J2", "J3"]


def test_failed_and_null_ids_are_absent(old: World) -> None:
    old.on("GET /openapi/jobs/J2/report", of_json(None))
    done = old.bl("report", "get", "-j", "NOPE,J2,J1")
    assert (done.code, [row["id"] for row in done.json]) == (1, ["J1"])


def test_null_is_a_legal_answer(old: World) -> None:
    old.on("GET /openapi/jobs/J2/report", of_json(None))
    done = old.bl("report", "get", "-j", "J2,J1")
    assert (done.code, [row["id"] for row in done.json]) == (0, ["J1"])
    assert "J2: the server's answer is null; left out" in done.err


def test_failures_as_records(old: World) -> None:
    old.on("GET /openapi/jobs/J2/report", of_json(None))
    done = old.bl("--errors", "json", "report", "get", "-j", "NOPE,J2,J1")
    assert {(record["id"], record["kind"]) for record in map(json.loads, done.lines)} == {("NOPE", "not_found"), ("J2", "null_answer")}


def test_output_comes_after_everything(old: World) -> None:
    """A key that is refused on the last of many ids leaves nothing of the others on stdout."""
    old.refuse("GET /openapi/metrics/J3")
    assert old.bl("metrics", "get", "-j", "J1,J2,J3").out == ""


@pytest.mark.parametrize("command", ["metrics download", "trajectory download", "report download", "rsi download", "artifacts download"])
def test_downloads_print_nothing(each: World, out: Path, command: str) -> None:
    done = each.bl(*command.split(), "-j", each.held.jobs[0], "-o", str(out))
    assert (done.code, done.out) == (0, "")


@pytest.mark.parametrize("command", ["tasks download", "jobs download", "pull"])
def test_group_downloads_print_nothing(each: World, out: Path, command: str) -> None:
    done = each.bl(*command.split(), "-g", each.held.group, "-o", str(out))
    assert (done.code, done.out) == (0, "")


@pytest.mark.parametrize("body", [b'{"job_id": "J1", "metrics": {"a": NaN, "b": Infinity, "c": -Infinity}}'])
def test_not_a_number_is_null(old: World, body: bytes) -> None:
    old.on("GET /openapi/metrics/{job}", Answer(200, body, {"Content-Type": "application/json"}))
    assert _array(old, "metrics", "get", "-j", "J1")[0]["metrics"] == {"a": None, "b": None, "c": None}
