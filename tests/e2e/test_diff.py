"""`bl diff` on pushed groups and steps: JSON and table, exit codes, and the sentence of `--fail-on-regression`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.samples.generator import write_samples
from tests.support.programs import Bl, Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that holds both samples as steps 100 and 200 of group G, and each as a group of its own."""
    folder = tmp_path_factory.mktemp("diff")
    write_samples(folder / "runs")
    with serving(folder / "data") as running:
        home = folder / "home"
        home.mkdir()
        bl = Bl(home, running.origin, running.key("pusher"))
        for step in ("100", "200"):
            run = str(folder / "runs" / f"step-{step}")
            assert bl("push", "-q", run, "--step", step, "--group", "G").code == 0
            assert bl("push", "-q", run, "--group", f"H{step}").code == 0
        yield running


@pytest.fixture(scope="module")
def key(server: Server) -> str:
    """A key that may read."""
    return server.key("reader")


@pytest.fixture
def bl(server: Server, key: str, home: Path) -> Bl:
    """The client of that server."""
    return Bl(home, server.origin, key)


def _truth(bl: Bl, group: str) -> dict[str, list[dict[str, Any]]]:
    """The attempts that count, by task, straight from the job list."""
    found: dict[str, list[dict[str, Any]]] = {}
    for job in bl("jobs", "get", "-g", group, "--all", "-q").json[0]["jobs"]:
        if job["outcome"] in {"passed", "partial", "failed", "errored"} and job["reward_valid"] is not False:
            found.setdefault(job["task_id"], []).append(job)
    return found


def test_two_groups_are_what_their_job_lists_say(bl: Bl) -> None:
    found = bl("diff", "H100", "H200", "-q").json
    before, after = _truth(bl, "H100"), _truth(bl, "H200")
    for task in found["tasks"]:
        for side, jobs in (("a", before[task["task_id"]]), ("b", after[task["task_id"]])):
            assert task[side]["attempts"] == len(jobs)
            assert task[side]["passed"] == sum(job["outcome"] == "passed" for job in jobs)
            rewards = [job["reward"] for job in jobs if job["reward"] is not None]
            assert task[side]["reward"] == pytest.approx(sum(rewards) / len(rewards))
            assert task[side]["cost_usd"] == pytest.approx(sum(job["cost_usd"] for job in jobs) / len(jobs))
    assert found["counts"] == {"lost": 0, "won": 4, "both": 3, "neither": 1, "undecided": 0, "only_a": 0, "only_b": 0}
    assert found["passes"]["p_value"] == 2 / 2**4
    assert (found["a"]["invalid"], found["b"]["invalid"]) == (3, 1)
    assert (found["worse"], found["better"]) == ([], ["reward"])


def test_two_steps_of_a_group_are_the_same_comparison(bl: Bl) -> None:
    groups, steps = bl("diff", "H100", "H200", "-q").json, bl("diff", "G@100", "G@200", "-q").json
    assert steps["tasks"] == groups["tasks"]
    assert (steps["a"]["group_id"], steps["a"]["step"], steps["a"]["steps"]) == ("G", 100, [100])


def test_the_other_way_round_it_is_a_regression_and_exit_1(bl: Bl) -> None:
    done = bl("diff", "G@200", "G@100", "--fail-on-regression", "--no-pretty")
    assert done.code == 1, done
    assert json.loads(done.out)["worse"] == ["reward"]
    (error,) = [line for line in done.err.splitlines() if line.startswith("[error]")]
    assert "G@100 is significantly worse than G@200 at level 0.05: the reward fell by 0.4444 a task" in error


@pytest.mark.parametrize(
    "command", [("G@100", "G@200", "--fail-on-regression"), ("G@200", "G@100"), ("G@200", "G@200", "--fail-on-regression=0.9")]
)
def test_without_a_regression_or_without_asking_it_is_exit_0(bl: Bl, command: tuple[str, ...]) -> None:
    done = bl("diff", *command)
    assert done.code == 0, done
    assert "[error]" not in done.err


def test_the_table_shows_tasks_that_differ_and_the_verdict(bl: Bl) -> None:
    done = bl("diff", "G@200", "G@100", "--format", "table", "-q")
    lines = done.out.splitlines()
    assert done.code == 0
    assert done.err == ""
    assert lines[2].split()[:2] == ["task", "change"]
    assert lines[3].split()[:2] == ["pagination-bug", "lost"]
    assert lines[-1] == "B is significantly worse by reward, at level 0.05"
    assert "\x1b" not in done.out
    same = bl("diff", "G@200", "G@200", "--format", "table", "-q").out
    assert "8 task(s) without a difference are not shown" in same
    assert "slugify" in bl("diff", "G@200", "G@200", "--format", "table", "--all", "-q").out


def test_a_terminal_gets_the_table(bl: Bl) -> None:
    controller, terminal = pty.openpty()
    process = subprocess.Popen([bl.program, "diff", "G@200", "G@100", "-q"], env=bl.env(TERM="xterm"), cwd=bl.home, stdout=terminal)
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the end of a pseudo-terminal is an error on Linux
        while piece := os.read(controller, 65536):
            shown += piece
    os.close(controller)
    assert process.wait(60) == 0
    assert b"\x1b[31mlost" in shown
    assert b"B is significantly worse by reward" in shown


def test_the_seed_decides_the_interval(bl: Bl) -> None:
    first, again, other = (bl("diff", "G@100", "G@200", "-q", "--seed", seed).json["reward"] for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("command", "code", "word"),
    [
        (("G", "nope"), 1, "group nope does not exist"),
        (("G@100", "G@300"), 1, "no jobs of step 300; its steps: 100, 200"),
        (("G",), 2, "Missing argument 'B'"),
        (("G", ".."), 2, "group id"),
        (("G", "H100", "--fail-on-regression", "1.5"), 2, "1.5"),
        (("G", "H100", "--format", "csv"), 2, "csv"),
    ],
)
def test_what_cannot_be_compared_says_why(bl: Bl, command: tuple[str, ...], code: int, word: str) -> None:
    done = bl("diff", *command)
    assert done.code == code, done
    assert word in done.err
    assert done.out == ""
