"""The installed `benchloop-server`: what it prints where, how it stops, and what it says when something is in the way."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.programs import Server

_PROGRAM = Path(os.environ.get("VIRTUAL_ENV") or Path(__file__).parents[2] / ".venv") / "bin" / "benchloop-server"


def run(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """The program with a home folder of its own, to its end."""
    command = [str(_PROGRAM), *arguments]
    env = {"PATH": os.defpath, "HOME": str(home), "LANG": "C.UTF-8"}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def test_version(tmp_path: Path) -> None:
    done = run("--version", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("benchloop-server 1.")


def test_a_key_alone_is_on_standard_output(tmp_path: Path) -> None:
    made = run("key", "create", "--name", "ci", "--scopes", "read", "--user", "bob", "--workspace", "team", home=tmp_path)
    assert made.returncode == 0, made.stderr
    key = made.stdout.removesuffix("\n")
    assert key.startswith("blk_") and key.isalnum() is False and "\n" not in key
    assert key not in made.stderr and "X-API-Key" in made.stderr
    data = tmp_path / ".local" / "share" / "benchloop"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    listed = json.loads(run("key", "list", home=tmp_path).stdout)
    assert [(row["name"], row["user"], row["workspace_id"], row["scopes"]) for row in listed] == [("ci", "bob", "team", ["read"])]
    assert key not in json.dumps(listed)


def test_a_revoked_key_is_refused_by_a_running_server(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    try:
        key = server.key_of_command()
        assert _status(server, key) == 200
        listed = json.loads(run("key", "list", "--data", str(server.data), home=tmp_path).stdout)
        done = run("key", "revoke", listed[0]["key_id"], "--data", str(server.data), home=tmp_path)
        assert (done.returncode, done.stdout) == (0, "")
        assert _status(server, key) == 401
    finally:
        server.stop()
    log = (tmp_path / "data" / "logs" / "access.jsonl").read_text()
    assert [json.loads(line)["status"] for line in log.splitlines()] == [200, 401]
    assert key not in log and key not in "".join(server.log)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["key", "revoke", "nope"], 1, "key 'nope' does not exist"),
        (["key", "create", "--name", "x", "--scopes", "root"], 1, "scopes are read, write, admin, not root"),
        (["key", "create"], 2, "--name"),
        (["serve", "--port", "70000"], 2, "70000"),
        (["serve", "--port", "0", "--blobs", "ftp://x"], 1, "ftp://x"),
        (["serve", "--port", "0", "--database", "mysql://x"], 1, "not 'mysql'"),
        (["serve", "--port", "0", "--data", "/dev/null/x"], 1, "/dev/null"),
        (["migrate", "--database", "postgresql://127.0.0.1:1/x"], 1, "127.0.0.1"),
    ],
)
def test_what_is_in_the_way_is_one_line(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    done = run(*arguments, home=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr and "Traceback" not in done.stderr
    if code == 1:
        assert len(done.stderr.splitlines()) == 1


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("serve", "--port", port, home=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr


def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    run("key", "create", "--name", "x", "--data", str(tmp_path / "data"), home=tmp_path)
    import sqlite3

    with sqlite3.connect(tmp_path / "data" / "benchloop.sqlite3") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    done = run("serve", "--port", "0", "--data", str(tmp_path / "data"), home=tmp_path)
    assert done.returncode == 1
    assert "newer benchloop-server (schema 9999)" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_at_once_although_somebody_is_still_reading(tmp_path: Path, number: signal.Signals) -> None:
    server = Server(tmp_path / "data").start()
    try:
        key = server.key()
        idle = socket.create_connection(("127.0.0.1", int(server.port)))
        half = socket.create_connection(("127.0.0.1", int(server.port)))
        half.sendall(f"POST /openapi/uploads HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Length: 1000\r\n\r\nabc".encode())
        time.sleep(0.3)
        begun = time.monotonic()
        os.kill(server.pid, number)
        assert _wait(server) == 0
        assert time.monotonic() - begun < 10  # below 1.5 s where the cores are free
        idle.close()
        half.close()
    finally:
        server.kill()
    assert "Traceback" not in "".join(server.log)


def test_another_address_comes_with_a_warning(tmp_path: Path) -> None:
    done = run("serve", "--host", "192.0.2.1", "--port", "0", home=tmp_path)
    warning, error = done.stderr.splitlines()
    assert "warning: keys travel in clear text to 192.0.2.1" in warning
    assert "cannot listen on 192.0.2.1" in error


def test_the_address_is_one_stable_line(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    assert _status(server, server.key()) == 200
    server.stop()
    assert [line for line in server.log if line.strip()] == [f"benchloop-server: listening on http://127.0.0.1:{server.port}\n"]


def _status(server: Server, key: str) -> int:
    import urllib3

    with urllib3.PoolManager(retries=False, timeout=20) as pool:
        return pool.request("GET", f"{server.origin}/openapi/jobs", headers={"X-API-Key": key}).status


def _wait(server: Server) -> int:
    """The exit code of the program."""
    assert server._process is not None
    return server._process.wait(20)
