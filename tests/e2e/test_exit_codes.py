"""The exit codes, the same for every command: 3 a rejected key, 4 no server, 1 something failed, 2 a wrong way of asking."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.documented import Documented
from tests.support.programs import Bl, Result, files_below
from tests.support.scripted import Scripted, error

#: Every command that asks a server, with ids that exist on the documented one.
_BY_GROUP = [
    ("metrics", "get", "-g", "G1"),
    ("metrics", "download", "-g", "G1"),
    ("trajectory", "get", "-g", "G1"),
    ("trajectory", "download", "-g", "G1"),
    ("overview", "get", "-g", "G1"),
    ("tasks", "get", "-g", "G1"),
    ("tasks", "get", "-g", "G1", "--all"),
    ("tasks", "download", "-g", "G1"),
    ("jobs", "get", "-g", "G1"),
    ("jobs", "get", "-g", "G1", "--all"),
    ("jobs", "download", "-g", "G1"),
    ("artifacts", "download", "-g", "G1"),
    ("artifacts", "download", "-g", "G1", "--list-only"),
    ("groups", "get", "-g", "G1"),
    ("pull", "-g", "G1"),
    ("pull", "-g", "G1", "--with", "metrics,trajectory,artifacts,tasks,jobs"),
]
_BY_JOB = [
    ("metrics", "get", "-j", "J1"),
    ("metrics", "download", "-j", "J1"),
    ("trajectory", "get", "-j", "J1"),
    ("trajectory", "download", "-j", "J1"),
    ("overview", "get", "-j", "J1"),
    ("artifacts", "download", "-j", "J1"),
    ("artifacts", "download", "-j", "J1", "--list-only"),
    ("pull", "-j", "J1"),
]
_BY_TASK = [
    ("trajectory", "download", "--task-id", "G1"),
    ("artifacts", "download", "--task-id", "G1"),
    ("artifacts", "download", "--task-id", "G1", "--list-only"),
    ("metadata", "download", "--task-id", "G1"),
]
_ALL = [*_BY_GROUP, *_BY_JOB, *_BY_TASK, ("groups", "list"), ("download-tasks", "create", "-g", "G1")]


def _name(command: tuple[str, ...]) -> str:
    return " ".join(command)


def _renamed(command: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(name if part in ("G1", "J1") else part for part in command)


def _errors(result: Result) -> list[str]:
    return [line for line in result.err.splitlines() if line.startswith("[error]")]


def _dead_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("command", _ALL, ids=_name)
def test_wrong_key_is_three_and_one_line(server: Scripted, bl: Bl, command: tuple[str, ...]) -> None:
    """A rejected key says so once, prints no data and leaves no file."""
    server.fallback = lambda _seen: error(401, "unknown key")
    result = bl("-q", *command)
    assert result.code == 3, str(result)
    assert result.out == ""
    assert len(result.err.strip().splitlines()) == 1, result.err
    assert _errors(result)
    assert files_below(bl.home) == {}


@pytest.mark.parametrize("command", _ALL, ids=_name)
def test_dead_port_is_four(home: Path, command: tuple[str, ...]) -> None:
    """Nobody listens: exit 4 and a sentence, and no traceback."""
    result = Bl(home, f"http://127.0.0.1:{_dead_port()}")("--retry", "0", *command)
    assert result.code == 4, str(result)
    assert _errors(result)
    assert "Traceback" not in result.err
    assert files_below(home) == {}


@pytest.mark.parametrize("command", _BY_GROUP, ids=_name)
def test_unknown_group_is_one_with_its_name(old: Documented, bl: Bl, command: tuple[str, ...]) -> None:
    """A group that does not exist fails with its name on stderr."""
    result = bl(*_renamed(command, "no-such-group"))
    assert result.code == 1, str(result)
    assert "no-such-group" in "".join(_errors(result))
    assert files_below(bl.home) == {}


@pytest.mark.parametrize("command", _BY_JOB, ids=_name)
def test_unknown_job_is_one_with_its_name(old: Documented, bl: Bl, command: tuple[str, ...]) -> None:
    """A job that does not exist fails with its name on stderr."""
    result = bl(*_renamed(command, "no-such-job"))
    assert result.code == 1, str(result)
    assert "no-such-job" in "".join(_errors(result))
    assert files_below(bl.home) == {}


@pytest.mark.parametrize("command", [command for command in _BY_JOB if "--list-only" not in command], ids=_name)
def test_one_bad_id_does_not_stop_the_other(old: Documented, bl: Bl, command: tuple[str, ...]) -> None:
    """One of two ids fails: exit 1, and the other's data is there."""
    result = bl(*command, "-j", "no-such-job")
    assert result.code == 1, str(result)
    assert "no-such-job" in "".join(_errors(result))
    assert "J1" in result.out or any("J1" in name for name in files_below(bl.home))


@pytest.mark.parametrize("command", [*_ALL, ("push", "."), ("config", "set")], ids=_name)
def test_bad_option_is_two(server: Scripted, bl: Bl, command: tuple[str, ...]) -> None:
    """An option that does not exist is a usage error, before any request."""
    result = bl(*command, "--no-such-option")
    assert result.code == 2, str(result)
    assert "no-such-option" in result.err
    assert server.seen == []


@pytest.mark.parametrize(
    "command",
    [
        ("no-such-command",),
        ("metrics", "no-such-action"),
        ("metrics", "get"),
        ("metrics", "get", "-g", "G1", "-j", "J1"),
        ("metrics", "get", "-g", "G1", "--scope", "nonsense"),
        ("jobs", "get", "-j", "J1"),
        ("tasks", "download", "-j", "J1"),
        ("jobs", "get", "-g", "G1", "--all", "--page-size", "0"),
        ("trajectory", "download", "--task-id", "T1", "-g", "G1"),
        ("trajectory", "download", "--task-id", "a/b"),
        ("metadata", "download"),
        ("pull", "-g", "G1", "--with", "nonsense"),
        ("config", "set"),
        ("--concurrency", "0", "metrics", "get", "-j", "J1"),
        ("--host", "no-scheme.example", "metrics", "get", "-j", "J1"),
    ],
    ids=_name,
)
def test_wrong_way_of_asking_is_two(server: Scripted, bl: Bl, command: tuple[str, ...]) -> None:
    """Combinations that mean nothing are refused at once."""
    result = bl(*command)
    assert result.code == 2, str(result)
    assert result.out == ""
    assert server.seen == []


@pytest.mark.parametrize("command", [("jobs", "get", "-g", "BIG", "--all"), ("trajectory", "get", "-g", "G1"), ("--help",)], ids=_name)
def test_closed_pipe_is_quiet(old: Documented, bl: Bl, command: tuple[str, ...]) -> None:
    """`bl … | head -c 1`: nobody reads on, and nothing is said about it."""
    old.fill("BIG", [f"J{n}" for n in range(3000)])
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [bl.program, *command], env=bl.env(), cwd=bl.home, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    _, err = process.communicate(timeout=60)
    text = err.decode("utf-8", "replace")
    assert "Traceback" not in text
    assert "Broken pipe" not in text
    assert not [line for line in text.splitlines() if line.startswith("[error]")]
    assert process.returncode in (0, 141, -13)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_closed_stream_is_no_traceback(old: Documented, bl: Bl, stream: str) -> None:
    """`>&-` and `2>&-` from a shell."""
    number = {"stdout": 1, "stderr": 2}[stream]
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" "$@" {number}>&-', bl.program, "metrics", "get", "-j", "J1"],
        env=bl.env(), cwd=bl.home, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert b"Traceback" not in done.stdout + done.stderr
    assert done.returncode in (0, 1)


def test_refused_and_failing_servers_are_one(server: Scripted, bl: Bl) -> None:
    """403, 404, 409, 429 and 500 are failures of the item, not of the key or of the network."""
    for status in (400, 403, 404, 409, 500):
        server.fallback = lambda _seen, status=status: error(status, f"said {status}")  # type: ignore[misc]
        result = bl("--retry", "0", "metrics", "get", "-j", "J1")
        assert result.code == 1, str(result)
        assert f"said {status}" in result.err


def test_network_and_other_failures_mixed_are_one(old: Documented, bl: Bl) -> None:
    """Exit 4 is for all ids having failed by the network only."""
    old.trajectories["J1"] = error(500, "broken", Connection="close")
    old.server.on("GET /openapi/jobs/J2/trajectory", old.trajectories["J1"])
    result = bl("--retry", "0", "trajectory", "get", "-j", "J1,J2")
    assert result.code == 1, str(result)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--version",), ("metrics", "--help"), ("pull", "--help")], ids=_name)
def test_help_and_version_need_no_server(home: Path, arguments: tuple[str, ...]) -> None:
    """Help works without a key, a host or a network."""
    result = Bl(home, key=None)(*arguments)
    assert result.code in ((0,) if arguments else (0, 2)), str(result)
    assert result.out or result.err
