"""Wire contract §16: what is said on stderr."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from benchloop_client.actions import events
from benchloop_client.cli.output import Output
from benchloop_client.cli.progress import Progress, duration, size
from tests.joined.conformance.conftest import World
from tests.joined.conformance.running import Ran, Screen
from tests.support.documented import tgz
from tests.support.scripted import Answer, error, of_json


def _patient(world: World, *argv: str) -> Ran:
    """The command as if six seconds went by between two looks at the clock, so that each step is worth a line."""
    ticks = itertools.count(0, 6)
    return world.bl.but(clock=lambda: float(next(ticks)))("--concurrency", "1", "--retry", "0", *argv)


def test_data_and_words_never_mix(each: World, out: Path) -> None:
    got = each.bl("metrics", "get", "-j", f"{each.held.jobs[0]},nope")
    assert got.out.startswith("[\n")
    assert "reward" not in got.err
    saved = each.bl("metrics", "download", "-j", each.held.jobs[0], "-o", str(out))
    assert (saved.out, "wrote" in saved.err) == ("", True)


def test_prefixes(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/J2/artifacts/download", error(404))
    done = old.bl("-v", "artifacts", "download", "-j", "J1,J2,NOPE", "-o", str(out))
    prefixes = {line.split("]")[0] + "]" if line.startswith("[") else "" for line in done.lines}
    assert prefixes - {"[debug]"} == {"", "[progress]", "[warn]", "[error]"}


def test_quiet_leaves_errors(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/J2/artifacts/download", error(404))
    done = old.bl("-q", "artifacts", "download", "-j", "J1,J2,NOPE", "-o", str(out))
    assert done.lines
    assert all(line.startswith("[error] ") for line in done.lines)


def test_wrong_usage(old: World) -> None:
    done = old.bl("metrics", "get")
    assert done.code == 2
    assert "Usage: bl metrics get" in done.err
    assert "at least one -g/--group or -j/--job is required" in done.err


def test_wrong_usage_is_an_error_line(old: World) -> None:
    assert old.bl("metrics", "get").lines[-1].startswith("[error] ")


_COUNTERS = {
    "trajectory download -j J1,J2": "job trajectory downloads: total=2 jobs",
    "trajectory download -g G1": "group trajectory downloads: total=1 groups",
    "trajectory download --task-id T1": "task trajectory downloads: total=3 jobs",
    "metadata download --task-id T1": "task metadata downloads: total=3 jobs",
    "report download -j J1,J2": "job report downloads: total=2 jobs",
    "report download -g P1": "group report jobs P1: total=2 jobs",
    "rsi download -j J1": "job rsi downloads: total=1 jobs",
    "rsi download -g P1": "group rsi downloads: total=1 groups",
    "tasks download -g G1": "group task-list downloads: total=1 groups",
    "jobs download -g G1": "group job-list downloads: total=1 groups",
    "artifacts download --task-id T1": "task artifact jobs T1: total=3 jobs",
    "artifacts download -g P1": "group artifact jobs P1: total=2 jobs",
    "artifacts download -j J1": "job artifacts: total=1 artifacts",
    "artifacts download -j J1,J2": "job artifact downloads: total=2 artifacts",
    "artifacts download -j J1 --list-only": "job artifact listings: total=1 jobs",
    "artifacts download --task-id T1 --list-only": "task artifact listings: total=3 jobs",
}


@pytest.mark.parametrize("command", _COUNTERS)
def test_counters_begin(old: World, out: Path, command: str) -> None:
    done = old.bl(*command.split(), *([] if "--list-only" in command else ["-o", str(out)]))
    assert f"[progress] {_COUNTERS[command]}" in done.lines


def test_listings_of_groups_count_jobs(old: World) -> None:
    done = old.bl("artifacts", "download", "-g", "P1", "--list-only")
    assert "[progress] group artifact listings P1: total=2 jobs" in done.lines


@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("trajectory download -j J1,J2", "job trajectory downloads: 2/2 jobs, downloaded OUT/J2_trajectory.json"),
        ("trajectory download --task-id T1", "task trajectory downloads: 3/3 jobs, processed J3, elapsed="),
        ("metadata download --task-id T1", "task metadata downloads: 3/3 jobs, processed J3, elapsed="),
        ("report download -j J1,J2", "job report downloads: 2/2 jobs, processed J2"),
        ("report download -g P1", "group report jobs P1: 2/2 jobs, processed Q2, elapsed="),
        ("tasks download -g G1", "group task-list downloads: 1/1 groups, downloaded OUT/G1/task_list.json"),
        ("tasks download -g G1", "group tasks G1: 3/3 tasks, fetched"),
        ("jobs download -g G1", "group jobs G1: 5/5 jobs, fetched"),
        ("artifacts download --task-id T1", "task artifact jobs T1: 3/3 jobs, processed J3, elapsed="),
        ("artifacts download -j J1", "job artifacts: 1/1 artifacts, downloaded OUT/J1/J1.tgz, elapsed="),
        ("artifacts download -j J1,J2 --list-only", "job artifact listings: 2/2 jobs, listed J2"),
    ],
)
def test_counters_end(old: World, out: Path, command: str, step: str) -> None:
    done = old.bl("--concurrency", "1", *command.split(), *([] if "--list-only" in command else ["-o", str(out)]))
    wanted = f"[progress] {step.replace('OUT', str(out))}"
    assert any(line.startswith(wanted) for line in done.lines), str(done)


def test_each_step_of_a_slow_counter_has_its_line(old: World, out: Path) -> None:
    done = _patient(old, "metadata", "download", "--task-id", "T1", "-o", str(out))
    steps = [line for line in done.lines if "/3 jobs, processed" in line]
    assert [line.split(", ")[1] for line in steps] == ["processed J1", "processed J2", "processed J3"]
    assert all("elapsed=00:" in line for line in steps)


def test_counters_count_what_failed_too(old: World, out: Path) -> None:
    done = _patient(old, "trajectory", "download", "-j", "NOPE,J1", "-o", str(out))
    assert any(line.startswith("[progress] job trajectory downloads: 1/2 jobs, failed NOPE") for line in done.lines), str(done)


def test_steps_of_a_fast_counter_do_not(old: World, out: Path) -> None:
    done = old.bl.but(clock=lambda: 1.0)("metadata", "download", "--task-id", "T1", "-o", str(out))
    assert sum("/3 jobs, processed" in line for line in done.lines) == 1


@pytest.mark.parametrize("command", ["metrics get -g G1", "overview get -j J1", "jobs get -g G1", "brm list -g G1", "report get -j J1,J2"])
def test_no_counters(old: World, command: str) -> None:
    assert old.bl(*command.split()).err == ""


def test_no_counters_in_metrics_and_pull(old: World, out: Path) -> None:
    for command in (["metrics", "download", "-g", "G1"], ["pull", "-g", "P1", "--with", "metrics,jobs,artifacts"]):
        assert "[progress]" not in old.bl(*command, "-o", str(out)).err


@pytest.mark.parametrize(("seconds", "text"), [(0, "00:00"), (59.9, "00:59"), (3599, "59:59"), (3600, "01:00:00"), (90061, "25:01:01")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_900, "999.9 kB"),
        (1_000_000, "1.0 MB"),
        (1_500_000, "1.5 MB"),
        (2_000_000_000, "2.0 GB"),
        (10**13, "10000.0 GB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_files_are_named(old: World, out: Path) -> None:
    wrote = old.bl("jobs", "download", "-g", "G1", "-o", str(out)).lines
    assert f"wrote {out}/G1/job_list.json (5 jobs)" in wrote
    assert f"wrote {out}/G1/task_list.json (3 tasks)" in old.bl("tasks", "download", "-g", "G1", "-o", str(out)).lines
    assert f"wrote {out}/J1_run_metrics.json" in old.bl("metrics", "download", "-j", "J1", "-o", str(out)).lines
    first = old.bl("artifacts", "download", "-j", "J1", "-o", str(out)).lines
    assert f"downloaded {out}/J1/J1.tgz" in first
    again = old.bl("artifacts", "download", "-j", "J1", "-o", str(out), "--skip-existing").lines
    assert f"skip existing {out}/J1/J1.tgz" in again
    assert "skip filtered J1.tgz" in old.bl("artifacts", "download", "-j", "J1", "-o", str(out), "--exclude", "*").lines


def test_many_files_are_counted(old: World, out: Path) -> None:
    old.on("GET /openapi/metrics/{job}", of_json({"metrics": 1}))
    ids = ",".join(f"N{number}" for number in range(60))
    done = old.bl("metrics", "download", "-j", ids, "-o", str(out))
    assert sum(line.startswith("wrote ") for line in done.lines) < 60
    assert "more file(s)" in done.err
    assert sum(line.startswith("wrote ") for line in old.bl("-v", "metrics", "download", "-j", ids, "-o", str(out / "v")).lines) == 60


def test_pull_names_the_group_trajectory(old: World, out: Path) -> None:
    assert f"wrote {out}/G1/trajectory.json" in old.bl("pull", "-g", "G1", "-o", str(out)).lines


def test_archives_are_named(old: World, out: Path) -> None:
    done = old.bl("trajectory", "download", "--task-id", "T1", "-o", str(out))
    assert done.lines[-2:] == [f"[progress] creating archive {out}/T1_trajectories.zip", f"wrote {out}/T1_trajectories.zip"]


def test_failures_are_listed(old: World) -> None:
    done = old.bl("metrics", "get", "-j", "NOPE1,J1,NOPE2")
    assert done.lines[-3] == "[error] 2 id(s) failed:"
    assert [line.split(": ")[0] for line in done.lines[-2:]] == ["[error]   - NOPE1", "[error]   - NOPE2"]


def test_failures_of_pull_are_listed(old: World, out: Path) -> None:
    done = old.bl("pull", "-j", "NOPE", "-o", str(out))
    assert "[error] 2 pull step(s) failed:" in done.lines
    assert [line.split(": ")[0] for line in done.lines[-2:]] == ["[error]   - NOPE:metrics", "[error]   - NOPE:trajectory"]


def test_api_errors_have_status_and_words(old: World) -> None:
    old.on("GET /openapi/metrics/J1", error(403, "not yours"))
    old.on("GET /openapi/metrics/J2", Answer(400, b"plain words", {"Content-Type": "text/plain"}))
    old.on("GET /openapi/metrics/J3", Answer(404, b"<html>" + b"x" * 9000, {"Content-Type": "text/html"}))
    lines = old.bl("metrics", "get", "-j", "J1,J2,J3").lines
    assert "[error]   - J1: API error 403: not yours" in lines
    assert "[error]   - J2: API error 400: plain words" in lines
    assert [len(line) < 200 for line in lines if "J3: API error 404" in line] == [True]


def test_failures_of_the_network_say_so(old: World) -> None:
    done = old.bl.but(host="http://127.0.0.1:9")("--retry", "0", "metrics", "get", "-j", "J1")
    assert any(line.startswith("[error]   - J1: network: ") for line in done.lines), str(done)


def test_failures_beside_the_trajectory_say_so(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/Q1/meta", error(404, "no meta"))
    old.on("GET /openapi/getTrajV2/mediaFile", error(404, "no media"))
    lines = old.bl("trajectory", "download", "--task-id", "T2", "-o", str(out)).lines
    assert any(line.startswith("[error]   - Q1: meta: ") for line in lines)
    assert any(line.startswith("[error]   - Q1: source: ") for line in lines)


def test_bytes_on_a_log(old: World, out: Path) -> None:
    body = tgz({"noise": os.urandom(400_000)})
    old.on("GET /openapi/jobs/J1/artifacts/download", Answer(200, body, {"Content-Type": "application/gzip"}, piece=100_000, pause=0.01))
    lines = _patient(old, "artifacts", "download", "-j", "J1", "-o", str(out)).lines
    assert any(line.startswith("[progress]") and "/s" in line for line in lines), lines
    quick = old.bl.but(clock=lambda: 1.0)("artifacts", "download", "-j", "J1", "-o", str(out / "quick")).lines
    assert not any("/s" in line for line in quick)


def test_bytes_on_a_terminal() -> None:
    screen, now = Screen(), [0.0]
    progress = Progress(Output(None, screen), lambda: now[0])
    for done in range(0, 1001, 10):
        now[0] += 0.02
        progress(events.Moved("a.tgz", done * 1000, 1_000_000))
    progress.close()
    drawn = [part for part in screen.getvalue().split("\r") if part.strip()]
    assert 15 < len(drawn) < 25
    assert all(len(part) <= 80 for part in drawn)
    assert "[####" in drawn[-1]
    assert "MB" in drawn[-1] or "kB" in drawn[-1]


def test_no_debug_lines_without_v(old: World) -> None:
    assert "[debug]" not in old.bl("jobs", "get", "-g", "G1", "--all").err
