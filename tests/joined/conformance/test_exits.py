"""Wire contract §17: exit codes."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from tests.joined.conformance.conftest import World
from tests.joined.conformance.running import Bl
from tests.support import programs
from tests.support.programs import files_below
from tests.support.scripted import Answer, error, html, of_json, redirect, scripted

_NOWHERE = "http://127.0.0.1:9"
_PER_JOB = ["metrics get", "trajectory get", "report get", "rsi get", "overview get", "report trigger", "artifacts download", "pull"]
_PER_GROUP = ["tasks get", "jobs get", "brm list", "brm run", "jobs download", "report download", "pull"]
_PER_TASK = ["trajectory download", "artifacts download", "metadata download"]


def _argv(command: str, out: Path, *ids: str) -> list[str]:
    saved = ["-o", str(out)] if "download" in command or command == "pull" else []
    return ["--retry", "0", *command.split(), *ids, *saved]


def _every(out: Path) -> list[list[str]]:
    return [
        *(_argv(command, out, "-j", "J1,J2") for command in _PER_JOB),
        *(_argv(command, out, "-g", "G1") for command in _PER_GROUP),
        *(_argv(command, out, "--task-id", "T1") for command in [*_PER_TASK, "brm status"]),
    ]


_EVERY = range(len(_every(Path())))


def test_zero_when_nothing_failed(each: World, out: Path) -> None:
    for argv in (["metrics", "get", "-j", each.held.jobs[0]], ["pull", "-g", each.held.group, "-o", str(out)]):
        assert each.bl(*argv).code == 0


def test_zero_for_missing_archives(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/J1/artifacts/download", error(404))
    done = old.bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert done.code == 0
    assert list(files_below(out)) == ["J1/J1.tgz"]
    assert old.bl("artifacts", "download", "-j", "J1", "-o", str(out / "2"), "--no-placeholder").code == 1


def test_zero_where_nothing_is_chosen(each: World, out: Path) -> None:
    assert each.bl("artifacts", "download", "-j", each.held.jobs[0], "--exclude", "*", "-o", str(out)).code == 0


@pytest.mark.parametrize("command", ["tasks get", "tasks get --all", "jobs get", "jobs get --all", "tasks download", "jobs download"])
def test_lists_of_an_unknown_group_fail(each: World, out: Path, command: str) -> None:
    done = each.bl(*_argv(command, out, "-g", "nowhere"))
    assert done.code == 1, str(done)
    assert files_below(out) == {}


@pytest.mark.parametrize("command", ["jobs get", "jobs get --all", "tasks get", "jobs download", "metrics get", "report get", "pull"])
def test_an_empty_group_is_none(each: World, out: Path, command: str) -> None:
    assert each.bl(*_argv(command, out, "-g", each.held.empty)).code == 0


@pytest.mark.parametrize("ids", ["nope", "nope,alsonot"])
def test_one_when_some_or_all_fail(each: World, out: Path, ids: str) -> None:
    for command in ("metrics get", "trajectory get", "overview get", "metrics download", "pull"):
        assert each.bl(*_argv(command, out, "-j", ids)).code == 1
        assert each.bl(*_argv(command, out, "-j", f"{each.held.jobs[0]},{ids}")).code == 1


@pytest.mark.parametrize("status", [400, 403, 404, 409, 429, 500, 503])
def test_one_for_other_statuses(old: World, status: int) -> None:
    old.on("GET /openapi/metrics/{job}", error(status))
    assert old.bl("--retry", "0", "metrics", "get", "-j", "J1").code == 1


def test_one_for_a_bad_snapshot(old: World, out: Path) -> None:
    old.on("GET /openapi/trajectory-download-tasks/{task}", of_json({"job_ids": []}))
    for command in _PER_TASK:
        assert old.bl(*_argv(command, out, "--task-id", "T1")).code == 1


def test_one_for_what_cannot_be_written(old: World, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = old.bl("metrics", "download", "-j", "J1", "-o", str(tmp_path / "file"))
    assert done.code == 1
    assert "Traceback" not in done.err


def test_two_for_wrong_usage(old: World) -> None:
    for argv in (
        ["metrics"],
        ["nothing"],
        ["metrics", "get"],
        ["metrics", "get", "--nope"],
        ["metrics", "get", "-j", "J1", "--scope", "x"],
    ):
        assert old.bl(*argv).code == 2


@pytest.mark.parametrize("place", _EVERY)
def test_three_for_any_refused_key(old: World, out: Path, place: int) -> None:
    argv = _every(out)[place]
    old.refuse()
    done = old.bl(*argv)
    assert (done.code, done.out) == (3, ""), (argv, str(done))


def test_three_from_our_server(ours: World, out: Path) -> None:
    stranger = ours.bl.but(key="blk_not_a_key")
    for argv in (["metrics", "get", "-j", "q1"], ["pull", "-g", "plain", "-o", str(out)], ["brm", "list", "-g", "plain"]):
        assert stranger(*argv).code == 3
    assert ours.bl.but(key=None)("metrics", "get", "-j", "q1").code == 3


@pytest.mark.parametrize(
    ("route", "argv"),
    [
        ("GET /openapi/jobs/{job}/artifacts/download", ["artifacts", "download", "-j", "J1"]),
        ("GET /openapi/jobs/{job}/artifacts/download", ["artifacts", "download", "-g", "G1"]),
        ("GET /openapi/jobs/{job}/artifacts/download", ["artifacts", "download", "--task-id", "T1"]),
        ("GET /openapi/jobs/{job}/artifacts", ["artifacts", "download", "-g", "G1"]),
        ("GET /openapi/jobs/{job}/artifacts", ["pull", "-g", "G1", "--with", "artifacts"]),
        ("GET /openapi/jobs/{job}/meta", ["trajectory", "download", "--task-id", "T1"]),
        ("GET /openapi/getTrajV2/mediaFile", ["trajectory", "download", "--task-id", "T2"]),
        ("GET /openapi/groups/{group}/report", ["report", "download", "-g", "G1"]),
        ("GET /openapi/jobs/{job}/report", ["report", "download", "-g", "G1"]),
        ("GET /openapi/jobs/{job}/trajectory", ["pull", "-j", "J1"]),
    ],
)
def test_three_for_a_refusal_on_the_way(old: World, out: Path, route: str, argv: list[str]) -> None:
    old.refuse(route)
    done = old.bl("--retry", "0", *argv, "-o", str(out))
    assert done.code == 3, str(done)


def test_the_first_refusal_stops_the_rest(old: World) -> None:
    old.refuse()
    assert old.bl("--concurrency", "2", "metrics", "get", "-j", ",".join(f"N{n}" for n in range(60))).code == 3
    assert len(old.scripted.asked("/openapi/metrics")) <= 4


def test_a_login_is_an_authentication_error(old: World, out: Path) -> None:
    with scripted() as gateway:
        gateway.on("GET /login", html())
        old.on("GET /openapi/metrics/{job}", redirect(f"{gateway.origin}/login"))
        old.on("GET /openapi/jobs/{job}/artifacts/download", redirect(f"{gateway.origin}/login"))
        assert old.bl("metrics", "get", "-j", "J1").code == 3
        assert old.bl("artifacts", "download", "-j", "J1", "-o", str(out)).code == 3
    assert files_below(out) == {}


def test_a_redirect_with_json_is_no_data(old: World) -> None:
    old.on("GET /openapi/metrics/{job}", redirect("/openapi/other", body=b'{"job_id": "J1"}'))
    done = old.bl("metrics", "get", "-j", "J1")
    assert (done.code, done.out) == (1, "[]\n")


def test_a_page_is_no_data(old: World) -> None:
    old.on("GET /openapi/metrics/{job}", html())
    done = old.bl("metrics", "get", "-j", "J1")
    assert (done.code, done.out) == (1, "[]\n")


@pytest.mark.parametrize("place", _EVERY)
def test_four_when_everything_failed_by_network(bl: Bl, out: Path, place: int) -> None:
    argv = _every(out)[place]
    done = bl.but(host=_NOWHERE)(*argv)
    assert done.code == 4, (argv, str(done))


@pytest.mark.parametrize("resource", ["report", "rsi"])
def test_four_when_all_of_a_group_failed_by_network(old: World, out: Path, resource: str) -> None:
    broken = Answer(200, b"{", {}, length=50)
    old.on(f"GET /openapi/groups/{{group}}/{resource}", broken)
    old.on(f"GET /openapi/jobs/{{job}}/{resource}", broken)
    assert old.bl("--retry", "0", resource, "download", "-g", "G1", "-o", str(out)).code == 4


def test_four_for_bytes_that_broke_off(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/{job}/artifacts/download", Answer(200, b"\x1f\x8b", {}, length=500))
    assert old.bl("--retry", "0", "artifacts", "download", "-j", "J1", "-o", str(out)).code == 4
    assert old.bl("--retry", "0", "artifacts", "download", "-g", "G1", "-o", str(out)).code == 4


def test_one_when_the_reasons_are_mixed(old: World) -> None:
    old.on("GET /openapi/metrics/J1", Answer(200, b"{", {}, length=50))
    assert old.bl("--retry", "0", "metrics", "get", "-j", "J1,NOPE").code == 1
    assert old.bl("--retry", "0", "metrics", "get", "-j", "J1,J2").code == 1
    assert old.bl("--retry", "0", "metrics", "get", "-j", "J1").code == 4


def test_listings_of_a_group_that_all_fail(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/{job}/artifacts", error(500))
    done = old.bl("--retry", "0", "artifacts", "download", "-g", "P1", "-o", str(out))
    assert done.code == 1
    old.on("GET /openapi/jobs/{job}/artifacts", Answer(200, b"{", {}, length=50))
    assert old.bl("--retry", "0", "artifacts", "download", "-g", "P1", "-o", str(out)).code == 4


def test_metrics_of_a_group_are_overall_then_detail(old: World, out: Path) -> None:
    old.on("GET /openapi/metrics", error(403))
    done = old.bl("metrics", "get", "-g", "G1")
    assert (done.code, done.out) == (1, "[]\n")
    assert [path for _, path, _ in old.asked()] == ["/openapi/groups/G1/metrics/overall", "/openapi/metrics"]
    assert old.bl("metrics", "download", "-g", "G1", "-o", str(out)).code == 1
    assert list(files_below(out)) == ["G1/overall_metrics.json"]


def test_a_trajectory_task_with_some_jobs_is_one_and_a_zip(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/J2/trajectory", error(404))
    assert old.bl("trajectory", "download", "--task-id", "T1", "-o", str(out)).code == 1
    assert list(files_below(out)) == ["T1_trajectories.zip"]


def test_a_trajectory_task_without_jobs_is_one_or_four(old: World, out: Path) -> None:
    for answer, code in ((error(404), 1), (Answer(200, b"{", {}, length=50), 4)):
        old.on("GET /openapi/jobs/{job}/trajectory", answer)
        assert old.bl("--retry", "0", "trajectory", "download", "--task-id", "T1", "-o", str(out)).code == code
    assert files_below(out) == {}


@pytest.mark.parametrize("route", ["GET /openapi/jobs/{job}/meta", "GET /openapi/getTrajV2/mediaFile"])
def test_failures_beside_trajectories_are_one_and_a_zip(old: World, out: Path, route: str) -> None:
    old.refuse(route, status=403)
    assert old.bl("trajectory", "download", "--task-id", "T2", "-o", str(out)).code == 1
    assert list(files_below(out)) == ["T2_trajectories.zip"]


def test_interrupt_is_130_within_a_second(old: World) -> None:
    old.on("GET /openapi/metrics/{job}", of_json({}, delay=5.0))
    threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()
    began = time.monotonic()
    done = old.bl("metrics", "get", "-j", ",".join(f"N{n}" for n in range(40)))
    took = time.monotonic() - began
    old.scripted.closing.set()
    old.scripted.closing.clear()
    assert (done.code, done.out) == (130, "")
    assert took < 2.5, took
    assert "run the same command again" in done.err


def test_a_termination_ends_by_the_signal_and_leaves_nothing(old: World, out: Path) -> None:
    """In a process of its own: it is the one thing that cannot be tried in this one."""
    old.on("GET /openapi/jobs/{job}/artifacts/download", Answer(200, b"\x1f\x8b" + b"x" * 50, {}, piece=1, pause=0.2))
    program = programs.Bl(old.bl.home, old.url)
    process = program.start("artifacts", "download", "-j", "J1", "-o", str(out))
    programs.wait_for(lambda: old.scripted.asked("/download"), what="the download")
    process.terminate()
    process.communicate(timeout=10)
    assert process.returncode == -signal.SIGTERM
    assert files_below(out) == {}
    assert programs.leftovers(out) == []
