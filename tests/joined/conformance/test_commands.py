"""Wire contract §12: every command takes the documented options, with the documented defaults and checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchloop_client.cli.app import SUMMARIES
from tests.joined.conformance.conftest import World
from tests.joined.conformance.protocol import archive_of
from tests.joined.conformance.running import Bl, Ran
from tests.support.programs import files_below
from tests.support.scripted import binary, error, of_json


def _runs(world: World, *argv: str) -> Ran:
    done = world.bl(*argv)
    assert done.code == 0, str(done)
    return done


def _saves(world: World, out: Path, *argv: str) -> list[str]:
    _runs(world, *argv, "-o", str(out), "--skip-existing")
    return sorted(files_below(out))


def _queries(world: World, fragment: str) -> list[dict[str, str]]:
    return [query for _, _, query in world.asked(fragment)]


def test_metrics_get(old: World) -> None:
    _runs(old, "metrics", "get", "-j", "J1", "--scope", "detail")
    both = _runs(old, "metrics", "get", "-g", "G1").json
    assert _runs(old, "metrics", "get", "-g", "G1", "--scope", "all").json == both
    assert both[0].keys() == {"group_id", "overall", "detail"}


@pytest.mark.parametrize("argv", [("-g", "G1"), ("-j", "J1")])
@pytest.mark.parametrize("command", [("metrics", "get"), ("metrics", "download"), ("overview", "get")])
def test_scope_is_always_checked(old: World, command: tuple[str, ...], argv: tuple[str, ...]) -> None:
    assert old.bl(*command, *argv, "--scope", "some").code == 2
    assert old.asked() == []


def test_metrics_download(old: World, out: Path) -> None:
    assert _saves(old, out, "metrics", "download", "-g", "G1", "--scope", "overall") == ["G1/overall_metrics.json"]


def test_trajectory_get(old: World) -> None:
    _runs(old, "trajectory", "get", "-g", "G1", "--download-timeout", "60")
    _runs(old, "trajectory", "get", "-j", "J1", "--download-timeout", "60")
    assert old.bl("trajectory", "get", "-g", "G1", "--download-timeout", "0").code == 2


def test_trajectory_download(old: World, out: Path) -> None:
    for number, argv in enumerate((("-g", "G1"), ("-j", "J1"), ("--task-id", "T1"))):
        _saves(old, out / str(number), "trajectory", "download", *argv, "--download-timeout", "60")


@pytest.mark.parametrize("resource", ["report", "rsi"])
def test_report_verbs(old: World, out: Path, resource: str) -> None:
    for number, argv in enumerate((("-g", "G1"), ("-j", "J1,J2"))):
        _runs(old, resource, "get", *argv)
        _saves(old, out / str(number), resource, "download", *argv)
        _runs(old, resource, "trigger", *argv)
        _runs(old, resource, "trigger", *argv, "--include-passed")


@pytest.mark.parametrize("resource", ["report", "rsi"])
def test_include_passed_is_for_groups(old: World, resource: str) -> None:
    _runs(old, resource, "trigger", "-j", "J1", "--include-passed")
    _runs(old, resource, "trigger", "-g", "G1")
    _runs(old, resource, "trigger", "-g", "G1", "--include-passed")
    assert [json.loads(seen.body) for seen in old.scripted.asked("/trigger")] == [{}, {"include_passed": False}, {"include_passed": True}]


def test_overview_get(old: World) -> None:
    assert _runs(old, "overview", "get", "-g", "G1").json == _runs(old, "overview", "get", "-g", "G1", "--scope", "all").json
    assert _runs(old, "overview", "get", "-g", "G1", "--scope", "tasks").json[0].keys() == {"group_id", "tasks"}
    assert _runs(old, "overview", "get", "-j", "J1", "--scope", "summary").json[0].keys() == {"job_id", "job", "stats"}


def test_tasks_get(old: World) -> None:
    _runs(old, "tasks", "get", "-g", "G1")
    _runs(old, "tasks", "get", "-g", "G1", "--page", "3", "--page-size", "7", "--search", "s", "--status", "passed")
    _runs(old, "tasks", "get", "-g", "G1", "--all")
    page = {"skip": "0", "limit": "50"}
    assert _queries(old, "eval_tasks") == [page, {"skip": "14", "limit": "7", "search": "s", "status": "passed"}, page]


def test_tasks_download(old: World, out: Path) -> None:
    assert _saves(old, out, "tasks", "download", "-g", "G1", "--search", "s", "--status", "passed") == ["G1/task_list.json"]
    _runs(old, "tasks", "download", "-g", "P1", "--page-size", "9", "-o", str(out))
    asked = _queries(old, "eval_tasks")
    assert asked[0] == {"skip": "0", "limit": "50", "search": "s", "status": "passed"}
    assert asked[-1]["limit"] == "9"


def test_whole_lists_come_in_large_pages_where_the_server_can(old: World, out: Path) -> None:
    old.on("GET /openapi/version", of_json({"server": "benchloop-server", "version": "1.0.0", "api": 1, "features": ["cursor"]}))
    _saves(old, out, "tasks", "download", "-g", "G1")
    _runs(old, "tasks", "get", "-g", "G1", "--all")
    _runs(old, "jobs", "get", "-g", "G1", "--all")
    assert {query["limit"] for query in [*_queries(old, "eval_tasks"), *_queries(old, "/openapi/jobs?")]} == {"1000"}
    _runs(old, "tasks", "get", "-g", "G1", "--all", "--page-size", "2")
    _runs(old, "tasks", "get", "-g", "G1")
    assert [query["limit"] for query in _queries(old, "eval_tasks")][-2:] == ["2", "50"]


def test_jobs_get(old: World) -> None:
    _runs(old, "jobs", "get", "-g", "G1")
    _runs(old, "jobs", "get", "-g", "G1", "--page", "2", "--page-size", "3", "--template", "t", "--status", "s", "--instance-id", "i")
    _runs(old, "jobs", "get", "-g", "G1", "--all")
    first = {"group_id": "G1", "skip": "0", "limit": "50"}
    second = {"group_id": "G1", "skip": "3", "limit": "3", "template": "t", "status": "s", "instance_id": "i"}
    assert _queries(old, "/openapi/jobs?") == [first, second, first]


def test_jobs_download(old: World, out: Path) -> None:
    assert _saves(old, out, "jobs", "download", "-g", "G1", "--template", "t", "--status", "s", "--instance-id", "i") == [
        "G1/job_list.json"
    ]
    _runs(old, "jobs", "download", "-g", "P1", "--page-size", "9", "-o", str(out))
    assert [query["limit"] for query in _queries(old, "/openapi/jobs?")] == ["1000", "9"]


def test_jobs_download_takes_all(old: World, out: Path) -> None:
    assert _saves(old, out, "jobs", "download", "-g", "G1", "--all") == ["G1/job_list.json"]


@pytest.mark.parametrize("command", ["tasks get", "jobs get", "jobs get --all", "tasks download", "jobs download"])
def test_pages_start_at_one(old: World, command: str) -> None:
    for wrong in (["--page-size", "0"], ["--page-size", "-5"], *([] if "download" in command else [["--page", "0"]])):
        assert old.bl(*command.split(), "-g", "G1", *wrong).code == 2
    assert old.asked() == []


def test_artifacts_download(old: World, out: Path) -> None:
    assert _saves(old, out / "g", "artifacts", "download", "-g", "G1", "--include", "J[12]*", "--exclude", "J2*") == ["G1/J1/J1.tgz"]
    assert _saves(old, out / "j", "artifacts", "download", "-j", "J1") == ["J1/J1.tgz"]
    assert _saves(old, out / "t", "artifacts", "download", "--task-id", "T1") == ["T1/J1.tgz", "T1/J2.tgz", "T1/J3.tgz"]
    for source in (("-g", "G1"), ("-j", "J1"), ("--task-id", "T1")):
        assert _runs(old, "artifacts", "download", *source, "--list-only").json != []


def test_metadata_download(old: World, out: Path) -> None:
    assert old.bl("metadata", "download").code == 2
    assert _saves(old, out, "metadata", "download", "--task-id", "T1") == ["T1_metadata.zip"]


def test_brm_run(old: World) -> None:
    _runs(old, "brm", "run", "-g", "G1", "--steps", "100, 200", "--sample-size", "3", "--scoring-limit", "4")
    assert old.bl("brm", "run", "-g", "G1,P1", "--steps", "100").code == 2


def test_brm_defaults(old: World) -> None:
    _runs(old, "brm", "run", "-g", "G1", "--steps", "100")
    body = json.loads(next(seen.body for seen in old.scripted.seen if seen.method == "POST"))
    assert (body["sampleSize"], body["scoringLimit"]) == (512, 32)


def test_brm_get_and_status(old: World) -> None:
    assert _runs(old, "brm", "get", "--task-id", "b1", "--task-id", "b2").json == (
        _runs(old, "brm", "get", "--task-id", "b1,b2", "--scope", "all").json
    )
    assert _runs(old, "brm", "status", "--task-id", "b1").json == _runs(old, "brm", "get", "--task-id", "b1", "--scope", "status").json
    assert old.bl("brm", "get", "--task-id", "b1", "--scope", "some").code == 2


def test_brm_list(old: World) -> None:
    assert [row["group_id"] for row in _runs(old, "brm", "list", "-g", "P1", "-g", "G1").json] == ["P1", "G1"]


def test_pull(old: World, out: Path) -> None:
    assert _saves(old, out / "g", "pull", "-g", "G1", "--download-timeout", "60") == [
        "G1/detail_metrics.json",
        "G1/overall_metrics.json",
        "G1/trajectory.json",
    ]
    named = "metrics, trajectory,report,artifacts,tasks,jobs"
    found = _saves(old, out / "j", "pull", "-j", "J1", "--with", named)
    assert found == ["J1/J1.tgz", "J1_report.md", "J1_run_metrics.json", "J1_trajectory.json"]


@pytest.mark.parametrize("named", ["metrics,nothing", "", " , "])
def test_pull_with_something_else_is_wrong_usage(old: World, named: str) -> None:
    assert old.bl("pull", "-g", "G1", "--with", named).code == 2
    assert old.asked() == []


def test_config_set(bl: Bl) -> None:
    done = bl("config", "set", "--api-key", "k", "--host", "http://127.0.0.1:9", "--output-dir", "d", "--config", str(bl.home / "c"))
    assert done.code == 0, str(done)


def test_ap_cmd_is_left_out(bl: Bl) -> None:
    assert "ap-cmd" not in SUMMARIES
    done = bl("ap-cmd", "G1")
    assert done.code == 2
    assert "ap-cmd" in done.err


# ---- globs --------------------------------------------------------------------------------------------------------------------------


def _two_artifacts(world: World) -> None:
    rows = [{"name": name, "url": f"/openapi/files/{name}"} for name in ("a.tgz", "b.log")]
    world.on("GET /openapi/jobs/{job}/artifacts", of_json({"artifacts": rows}))
    world.on("GET /openapi/files/{name}", lambda seen: of_json(seen.path_ids["name"]))
    world.on("GET /openapi/files/a.tgz", binary(archive_of("a")))


@pytest.mark.parametrize(
    ("globs", "chosen"),
    [
        (("--include", "*.tgz"), ["a.tgz"]),
        (("--exclude", "*.tgz"), ["b.log"]),
        (("--include", "[ab]*", "--exclude", "a?tgz"), ["b.log"]),
        (("--include", "*.TGZ"), []),
    ],
)
def test_globs_are_over_names(old: World, out: Path, globs: tuple[str, ...], chosen: list[str]) -> None:
    _two_artifacts(old)
    _runs(old, "artifacts", "download", "-j", "J1", *globs, "-o", str(out))
    assert sorted(files_below(out)) == [f"J1/{name}" for name in chosen]
    assert [row["name"] for row in _runs(old, "artifacts", "download", "-j", "J1", *globs, "--list-only").json] == chosen


def test_globs_of_a_task_are_over_its_file_names(old: World, out: Path) -> None:
    _two_artifacts(old)
    _runs(old, "artifacts", "download", "--task-id", "T1", "--include", "J2.tgz", "-o", str(out))
    assert sorted(files_below(out)) == ["T1/J2.tgz"]


def test_globs_of_a_tasks_list_are_over_names(old: World) -> None:
    _two_artifacts(old)
    rows = _runs(old, "artifacts", "download", "--task-id", "T1", "--include", "*.log", "--list-only").json
    assert {row["name"] for row in rows} == {"b.log"}


# ---- the order of checks of brm run ---------------------------------------------------------------------------------------------------


def _refused(world: World, *argv: str) -> tuple[str, list[str]]:
    """A usage error, and what had been asked for by then."""
    done = world.bl("brm", "run", *argv)
    assert (done.code, done.out) == (2, ""), str(done)
    return done.err, [path for _, path, _ in world.asked()]


@pytest.mark.parametrize("steps", ["one", "1.5", "10,010", "+10,10", "1e3"])
def test_brm_run_checks_the_spelling_of_steps_first(each: World, steps: str) -> None:
    done = each.bl("brm", "run", "-g", "A,B", "--steps", steps)
    assert (done.code, done.out) == (2, "")
    assert "--steps" in done.err
    assert each.server is None or each.asked() == []


def test_brm_run_takes_equal_steps_once(old: World) -> None:
    _runs(old, "brm", "run", "-g", "G1", "--steps", "100,100", "--steps", "100")
    assert json.loads(old.scripted.seen[-1].body)["steps"] == [100]


def test_brm_run_then_checks_the_group(old: World) -> None:
    assert "group" in _refused(old)[0]
    text, asked = _refused(old, "-g", "G1,P1", "--scoring-limit", "0")
    assert ("exactly one" in text, asked) == (True, [])


def test_brm_run_then_asks_for_the_steps(old: World) -> None:
    text, asked = _refused(old, "-g", "G1", "--scoring-limit", "0", "--sample-size", "0")
    assert asked == ["/openapi/behavior/steps"]
    assert "--steps" in text


def test_brm_run_needs_steps_and_lists_them(each: World) -> None:
    done = each.bl("brm", "run", "-g", each.held.group)
    assert (done.code, done.out) == (2, "")
    assert f"available steps: {', '.join(map(str, each.held.steps))}" in done.err


def test_brm_run_takes_twenty_steps(old: World) -> None:
    old.on("GET /openapi/behavior/steps", of_json({"steps": list(range(1, 30))}))
    text, _ = _refused(old, "-g", "G1", "--steps", ",".join(map(str, range(1, 22))), "--scoring-limit", "0")
    assert "20" in text
    _runs(old, "brm", "run", "-g", "G1", "--steps", ",".join(map(str, range(1, 21))))


def test_brm_run_takes_steps_that_there_are(each: World) -> None:
    done = each.bl("brm", "run", "-g", each.held.group, "--steps", "101", "--scoring-limit", "0")
    assert (done.code, done.out) == (2, "")
    assert "101" in done.err


def test_brm_run_takes_no_steps_where_there_are_none(each: World) -> None:
    done = each.bl("brm", "run", "-g", each.held.plain, "--steps", "1", "--scoring-limit", "0")
    assert (done.code, done.out) == (2, "")
    assert "--steps" in done.err


def test_brm_run_then_checks_the_limits(each: World) -> None:
    step = str(each.held.steps[0])
    for wrong in ("--scoring-limit", "--sample-size"):
        done = each.bl("brm", "run", "-g", each.held.group, "--steps", step, wrong, "0")
        assert (done.code, done.out) == (2, "")
        assert wrong in done.err
    assert each.server is None or {method for method, _, _ in each.asked()} == {"GET"}
    assert each.bl("brm", "run", "-g", each.held.plain, "--sample-size", "0").code == 0


def test_brm_run_says_that_it_began(each: World) -> None:
    done = each.bl("brm", "run", "-g", each.held.plain)
    assert done.json[0]["uid"] in done.err


def test_brm_errors_are_the_servers_words_alone(old: World) -> None:
    old.on("GET /openapi/behavior/tasks/{uid}", error(404, "no such task here"))
    done = old.bl("brm", "status", "--task-id", "b1")
    assert done.lines[-1] == "[error]   - b1: no such task here"
