"""`bl report`, `rsi` and `brm` against a scripted server: order of checks, shapes, words on stderr."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.actions import behaviour, pull
from benchloop_client.cli.app import run
from benchloop_client.cli.commands import brm
from benchloop_client.cli.commands import pull as pull_command
from benchloop_client.cli.env import Env
from benchloop_client.client import Client
from benchloop_client.settings import load
from tests.support.documented import Documented
from tests.support.scripted import Answer, Scripted, Seen, error, of_json, scripted
from tests.unit.client.cli.conftest import KEY, Ran

Run = Callable[..., Ran]


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A scripted server."""
    with scripted() as running:
        yield running


@pytest.fixture
def bl(server: Scripted) -> Run:
    """Run one command line against it, without retries."""

    def call(*argv: str, stdin: str = "") -> Ran:
        out, err = io.BytesIO(), io.StringIO()
        environ = {"BENCHLOOP_API_KEY": KEY, "BENCHLOOP_HOST": server.origin, "HOME": "/nonexistent"}

        def open_client(settings: Any, cancel: threading.Event) -> Client:
            return Client(settings, cancel)

        env = Env(io.StringIO(stdin), out, err, lambda: 0.0, lambda flags: load(flags, environ), open_client)
        code = run(["--retry", "0", *argv], env)
        return Ran(code, out.getvalue().decode(), err.getvalue(), None)

    return call


def _steps(server: Scripted, **answer: Any) -> None:
    server.on("GET /openapi/behavior/steps", of_json(answer))


@pytest.fixture
def stepped(server: Scripted) -> Scripted:
    """G1 has steps 10, 20 and 30; each task is U1 and shows what was asked for."""
    _steps(server, steps=[10, 20.0, {"step": "30"}, True, "x", None, 1.5, {"step": None}], samplingMode="step")
    server.on("POST /openapi/behavior/tasks", lambda seen: of_json({"uid": "U1", "asked": json.loads(seen.body)}))
    return server


# ---- brm run ------------------------------------------------------------------------------------------------------------------------


def test_a_task_in_step_mode_has_the_documented_body_and_shape(stepped: Scripted, bl: Run) -> None:
    ran = bl("brm", "run", "-g", "G1", "--steps", "20,10,20", "--steps", "-", stdin="30")
    assert ran.code == 0
    asked = {"groupId": "G1", "steps": [20, 10, 30], "scoringLimit": 32, "sampleSize": 512}
    assert ran.json == [{"uid": "U1", "asked": asked, "group_id": "G1", "samplingMode": "step", "task_id": "U1"}]
    assert ran.err == "brm task submitted: U1 (group=G1, mode=step)\n"
    post = stepped.asked("/behavior/tasks")[0]
    assert len(post.headers["idempotency-key"]) == 32


@pytest.mark.parametrize(
    ("answer", "mode"),
    [
        ({"samplingMode": "step", "sampling_mode": "all_jobs", "steps": [1]}, "step"),
        ({"samplingMode": "other", "hasStep": True, "steps": [1]}, "all_jobs"),
        ({"sampling_mode": "step", "steps": [1]}, "step"),
        ({"samplingMode": "", "hasStep": False, "steps": [1]}, "all_jobs"),
        ({"samplingMode": None, "has_step": True, "steps": [1]}, "step"),
        ({"hasStep": "yes", "has_step": False, "steps": [1]}, "all_jobs"),
        ({"steps": [1]}, "step"),
        ({"steps": []}, "all_jobs"),
        ({}, "all_jobs"),
    ],
)
def test_the_mode_is_the_first_word_that_applies(answer: dict[str, Any], mode: str) -> None:
    assert behaviour.Steps.of(answer).mode == mode


def test_a_task_over_all_jobs_sends_no_sample_size(stepped: Scripted, bl: Run) -> None:
    _steps(stepped, hasStep=False)
    ran = bl("brm", "run", "-g", "G1", "--sample-size", "0", "--scoring-limit", "5")
    assert ran.json[0]["asked"] == {"groupId": "G1", "steps": [], "scoringLimit": 5}
    assert (ran.json[0]["samplingMode"], ran.code) == ("all_jobs", 0)


@pytest.mark.parametrize(
    ("answer", "element"),
    [
        ([1], {"result": [1], "group_id": "G1", "samplingMode": "all_jobs"}),
        ({"uid": "U", "task_id": "T9", "group_id": "Z"}, {"uid": "U", "task_id": "T9", "group_id": "Z", "samplingMode": "all_jobs"}),
    ],
)
def test_what_a_server_answers_is_kept_and_completed(stepped: Scripted, bl: Run, answer: Any, element: Any) -> None:
    _steps(stepped)
    stepped.on("POST /openapi/behavior/tasks", of_json(answer))
    assert bl("brm", "run", "-g", "G1").json == [element]


_TWENTY_ONE = ",".join(map(str, range(21)))


@pytest.mark.parametrize(
    ("argv", "words", "asked"),
    [
        (["--steps", "x", "-g", "A,B"], "--steps takes whole numbers, not 'x'", 0),
        (["--steps", "10,010"], "--steps names 10 twice", 0),
        (["--steps", "1.5", "-g", "G1"], "--steps takes whole numbers, not '1.5'", 0),
        (["--steps", "10"], "at least one -g/--group is required", 0),
        (["--steps", "-", "-g", "-"], "'-' reads stdin", 0),
        (["-g", "A,B"], "exactly one -g/--group, not 2", 0),
        (["-g", "G1", "--scoring-limit", "0"], "group G1 has steps: name 1 to 20 of them with --steps", 1),
        (["-g", "G1", "--steps", _TWENTY_ONE], "--steps names 21 steps; at most 20 go into one task", 1),
        (["-g", "G1", "--steps", "40,10", "--scoring-limit", "0"], "group G1 has no step 40", 1),
        (["-g", "G1", "--steps", "10", "--sample-size", "0", "--scoring-limit", "0"], "--scoring-limit must be greater than 0", 1),
        (["-g", "G1", "--steps", "10", "--sample-size", "-1"], "--sample-size must be greater than 0", 1),
    ],
)
def test_checks_come_in_the_documented_order_and_are_usage_errors(
    stepped: Scripted, bl: Run, argv: list[str], words: str, asked: int
) -> None:
    ran = bl("brm", "run", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len(stepped.asked()) == asked
    assert ran.err.isascii()


def test_steps_of_a_group_without_any_are_refused(stepped: Scripted, bl: Run) -> None:
    _steps(stepped, steps=[10], sampling_mode="all_jobs")
    ran = bl("brm", "run", "-g", "G1", "--steps", "10", "--scoring-limit", "0")
    assert (ran.code, ran.err) == (2, "[error] group G1 has no steps, all of its jobs are looked at: leave --steps out\n")


@pytest.mark.parametrize("argv", [[], ["--steps", "5"], ["--steps", ""]])
def test_available_steps_are_listed_even_quietly(stepped: Scripted, bl: Run, argv: list[str]) -> None:
    ran = bl("brm", "run", "-g", "G1", "-q", *argv)
    assert "[error]   - available steps: 10, 20, 30" in ran.err.splitlines()


def test_many_steps_are_listed_in_lines_of_a_few(stepped: Scripted, bl: Run) -> None:
    _steps(stepped, steps=list(range(1, 1001)))
    listed = [line for line in bl("brm", "run", "-g", "G1").err.splitlines() if "available steps" in line]
    assert (len(listed), max(map(len, listed)) < 100) == (84, True)
    assert listed[-1].endswith("997, 998, 999, 1000")


@pytest.mark.parametrize("route", ["GET /openapi/behavior/steps", "POST /openapi/behavior/tasks"])
def test_a_servers_refusal_is_told_in_its_own_words(stepped: Scripted, bl: Run, route: str) -> None:
    stepped.on(route, error(422, "not like this"))
    ran = bl("brm", "run", "-g", "G1", "--steps", "10")
    assert (ran.code, ran.out, ran.err) == (1, "", "[error] not like this\n")


def test_b8_a_task_is_not_started_twice_after_a_timeout(stepped: Scripted, bl: Run) -> None:
    stepped.on("POST /openapi/behavior/tasks", error(504, "late"))
    assert bl("--retry", "3", "brm", "run", "-g", "G1", "--steps", "10").code == 1
    assert len(stepped.asked("/behavior/tasks")) == 1


def _states(server: Scripted, *states: dict[str, Any]) -> None:
    left = list(states)
    server.on("GET /openapi/behavior/tasks/U1", lambda _seen: of_json(left.pop(0) if len(left) > 1 else left[0]))


def test_wait_shows_the_state_in_the_end(stepped: Scripted, bl: Run) -> None:
    _states(stepped, {"status": "running", "progress": {"done": 1, "total": 4}}, {"status": "done", "n": 4})
    ran = bl("brm", "run", "-g", "G1", "--steps", "10", "--wait")
    assert (ran.code, ran.json[0]["status"], ran.json[0]["n"]) == (0, "done", 4)
    assert "U1: running, 1 of 4 jobs" in ran.err.splitlines()


def test_wait_ends_where_nobody_analyses_and_the_task_is_still_shown(stepped: Scripted, bl: Run) -> None:
    _states(stepped, {"status": "not_analysed"})
    ran = bl("brm", "run", "-g", "G1", "--steps", "10", "--wait")
    assert (ran.code, ran.json[0]["uid"]) == (1, "U1")
    assert "[error]   - U1: the request is kept, but this server does not analyse yet; nothing to wait for" in ran.err.splitlines()


def test_wait_ends_with_its_time(stepped: Scripted, bl: Run) -> None:
    _states(stepped, {"status": "running"})
    ran = bl("brm", "run", "-g", "G1", "--steps", "10", "--wait", "--wait-timeout", "0.2")
    assert (ran.code, ran.json[0]["uid"]) == (1, "U1")
    assert "still not there after 0.2 s" in ran.err
    assert bl("brm", "run", "-g", "G1", "--wait-timeout", "0").code == 2


# ---- brm get, status, list ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def analysed(server: Scripted) -> Scripted:
    """Every task but BAD has a state and findings."""

    def known(value: Any) -> Callable[[Seen], Answer]:
        return lambda seen: error(404, "no such task") if seen.path_ids["u"] == "BAD" else of_json(value)

    found = {"uid": "UU", "summary": "s", "categoryScores": [1], "behaviorPatterns": [2], "sampling_mode": "step"}
    server.on("GET /openapi/behavior/tasks/{u}", known({"status": "done", "task_id": "other"}))
    server.on("GET /openapi/behavior/tasks/{u}/analysis", known(found))
    return server


_OVERALL = {"task_id": "U1", "uid": "UU", "summary": "s", "categoryScores": [1]}
_DETAIL = {"task_id": "U1", "uid": "UU", "behaviorPatterns": [2]}
_STATUS = {"status": "done", "task_id": "U1", "uid": "U1"}


@pytest.mark.parametrize(
    ("argv", "element"),
    [
        (["get", "--scope", "overall"], _OVERALL),
        (["get", "--scope", "detail"], _DETAIL),
        (["get", "--scope", "status"], _STATUS),
        (["status"], _STATUS),
        (["get"], {"task_id": "U1", "uid": "U1", "status": _STATUS, "overall": _OVERALL, "detail": _DETAIL, "samplingMode": "step"}),
    ],
)
def test_tasks_in_each_scope(analysed: Scripted, bl: Run, argv: list[str], element: Any) -> None:
    ran = bl("brm", *argv, "--task-id", "U1,BAD", "--task-id", "U1")
    assert (ran.code, ran.json) == (1, [element])
    assert list(ran.json[0]) == list(element)
    assert ran.err.splitlines()[-2:] == ["[error] 1 id(s) failed:", "[error]   - BAD: no such task"]


@pytest.mark.parametrize("answer", [[3], {}, None])
def test_findings_of_another_shape_are_nulls(analysed: Scripted, bl: Run, answer: Any) -> None:
    analysed.on("GET /openapi/behavior/tasks/{u}/analysis", of_json(answer))
    analysed.on("GET /openapi/behavior/tasks/{u}", of_json([4]))
    (found,) = bl("brm", "get", "--task-id", "U1").json
    assert found["status"] == {"result": [4], "uid": "U1", "task_id": "U1"}
    assert found["overall"] == {"task_id": "U1", "uid": "U1", "summary": None, "categoryScores": None}
    assert found["detail"] == {"task_id": "U1", "uid": "U1", "behaviorPatterns": None}
    assert "samplingMode" not in found


@pytest.mark.parametrize(
    ("answer", "tasks"),
    [
        ([{"uid": "A", "task_id": "q"}, {"task_id": "B"}, 5], [{"uid": "A", "task_id": "A"}, {"task_id": "B"}, 5]),
        ({"tasks": [{"uid": "A"}], "total": 9}, [{"uid": "A", "task_id": "A"}]),
        ({"uid": "solo"}, [{"uid": "solo", "task_id": "solo"}]),
        (7, []),
        (None, []),
    ],
)
def test_the_tasks_of_a_group_in_any_shape(server: Scripted, bl: Run, answer: Any, tasks: Any) -> None:
    server.on("GET /openapi/behavior/tasks", of_json(answer))
    assert bl("brm", "list", "-g", "G1").json == [{"group_id": "G1", "total": len(tasks), "tasks": tasks}]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["status"], "at least one --task-id is required"),
        (["get", "--task-id", ","], "at least one --task-id is required"),
        (["get", "--task-id", "a/b"], "--task-id must not contain path separators"),
        (["get", "--task-id", "U1,.."], "cannot be used"),
        (["get", "--task-id", "U1", "--scope", "x"], "--scope must be one of overall, detail, status, all"),
        (["list"], "at least one -g/--group is required"),
        (["list", "-j", "J1"], "No such option"),
    ],
)
def test_wrong_usage_of_brm_is_2(server: Scripted, bl: Run, argv: list[str], words: str) -> None:
    ran = bl("brm", *argv)
    assert (ran.code, ran.out, server.asked()) == (2, "", [])
    assert words in ran.err


def test_a_refused_key_prints_nothing(server: Scripted, bl: Run) -> None:
    server.fallback = lambda _seen: error(401, "no")
    for argv in (["brm", "list", "-g", "G1"], ["brm", "run", "-g", "G1"], ["report", "trigger", "-j", "J1"], ["rsi", "get", "-g", "G1"]):
        ran = bl(*argv)
        assert (ran.code, ran.out) == (3, "")


# ---- report and rsi -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["report", "rsi"])
def test_get_shows_the_answers_as_they_are(server: Scripted, bl: Run, name: str) -> None:
    server.on(
        f"GET /openapi/jobs/{{j}}/{name}", lambda seen: of_json(None if seen.path_ids["j"] == "NULL" else {"any": seen.path_ids["j"]})
    )
    server.on(f"GET /openapi/groups/{{g}}/{name}", of_json([1]))
    ran = bl(name, "get", "-j", "J1,NULL,J2")
    assert (ran.code, ran.json) == (0, [{"any": "J1"}, {"any": "J2"}])
    assert "NULL: the server's answer is null" in ran.err
    assert bl(name, "get", "-g", "G1").json == [[1]]


@pytest.mark.parametrize("name", ["report", "rsi"])
def test_download_writes_files_and_nothing_on_stdout(server: Scripted, bl: Run, tmp_path: Path, name: str) -> None:
    old = Documented(server)
    old.fill("G1", ["J1", "J2"])
    old.reports = old.weaknesses = {"G1": "# G1", "J1": "# J1"}
    ran = bl(name, "download", "-g", "G1", "-o", str(tmp_path))
    assert (ran.code, ran.out) == (0, "")
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")) == [f"G1/J1_{name}.md", f"G1_{name}.md"]
    word = "report" if name == "report" else "weakness report"
    assert f"no {word} for 1 job(s): no file written" in ran.err.splitlines()


@pytest.mark.parametrize("name", ["report", "rsi"])
def test_trigger_prints_the_answers_and_waits_when_told(server: Scripted, bl: Run, name: str) -> None:
    server.on(f"POST /openapi/jobs/{{j}}/{name}/trigger", of_json({"status": "queued"}))
    server.on(f"GET /openapi/jobs/{{j}}/{name}", of_json({"status": "not_analysed", "reports": [], "report": None}))
    assert bl(name, "trigger", "-j", "J1,J2", "--include-passed").json == [{"status": "queued"}] * 2
    ran = bl(name, "trigger", "-j", "J1", "--wait")
    assert (ran.code, ran.json) == (1, [{"status": "queued"}])
    assert "this server does not analyse yet" in ran.err


def test_words_written_twice_so_that_help_is_quick_are_the_same() -> None:
    assert pull_command._RESOURCES == pull.RESOURCES
    assert (brm.SAMPLE_SIZE, brm.SCORING_LIMIT) == (behaviour.SAMPLE_SIZE, behaviour.SCORING_LIMIT)
