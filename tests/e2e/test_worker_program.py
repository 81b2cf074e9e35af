"""The worker of `serve`, and `benchloop-server worker`: started when there is work, again when it dies, gone with its parent."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.support.programs import Server, wait_for
from tests.support.pushing import Sent, archive, document

_PROGRAM = Path(sys.executable).parent / "benchloop-server"
#: A group whose work is due at once.
_EAGER = {"BENCHLOOP_SERVER_PACK_MINUTES": "0"}
_START_SECONDS = 60

pytestmark = pytest.mark.timeout(200)


class Eager(Server):
    """A server that packs groups as soon as they are pushed."""

    def _env(self) -> dict[str, str]:
        return {**super()._env(), **_EAGER}

    def push(self, group_id: str) -> None:
        """Two jobs in two blobs, so that there is something to pack."""
        key = self.key()
        for name in ("a", "b"):
            job = Sent(
                f"{group_id}-{name}", group_id, document=document(f"{group_id}-{name}", group_id), archive=archive({"f": name.encode()})
            )
            self.call("PUT", f"groups/{group_id}", key, json={"name": group_id})
            self.call("POST", "uploads", key, body=b"".join(job.items()))
            self.call("POST", f"groups/{group_id}/jobs", key, json={"jobs": [job.upsert()]})

    def call(self, method: str, path: str, key: str, **options: Any) -> Any:
        """The JSON of a request that has to be accepted."""
        answer = urllib3.request(method, f"{self.origin}/openapi/{path}", headers={"X-API-Key": key}, **options)
        assert answer.status == 200, answer.data
        return answer.json()

    def rows(self, query: str) -> list[Any]:
        """What the database holds."""
        with closing(sqlite3.connect(self.data / "benchloop.sqlite3", timeout=20)) as connection:
            return [row[0] for row in connection.execute(query)]

    def workers(self) -> list[int]:
        """The processes of workers that said they are alive and are."""
        return [pid for pid in self.rows("SELECT pid FROM workers") if _is_alive(pid)]

    def packed(self, group_id: str) -> bool:
        """Whether the group's work is done."""
        return self.rows(f"SELECT state FROM work WHERE kind = 'pack' AND key = '{group_id}'") == ["done"]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Eager]:
    """Serving, without any work yet."""
    server = Eager(tmp_path / "data")
    server.start()
    yield server
    server.stop()


def test_without_work_there_is_no_worker(server: Eager) -> None:
    time.sleep(2.5)
    assert server.rows("SELECT pid FROM workers") == []


def test_a_push_is_packed_and_the_status_says_so(server: Eager) -> None:
    server.push("g1")
    wait_for(lambda: server.packed("g1"), _START_SECONDS, "the group to be packed")
    status = server.call("GET", "status", server.key())
    assert status["queue"]["pack"]["done"] == 1
    assert [worker["alive"] for worker in status["workers"]] == [True]
    assert (status["storage"]["database"], status["storage"]["blobs"], status["storage"]["jobs"]) == ("sqlite", "folder", 2)
    assert status["storage"]["stored_bytes"] > 100
    assert len(server.rows("SELECT DISTINCT blob FROM uploads WHERE kind = 'trajectory'")) == 1
    assert "work_ended" in (server.data / "logs" / "worker.jsonl").read_text()
    assert not [line for line in server.log if "work" in line and "listening" not in line], server.log


def test_a_killed_worker_is_replaced(server: Eager) -> None:
    server.push("g1")
    wait_for(server.workers, _START_SECONDS, "a worker")
    first = server.workers()
    _kill(first[0])
    server.push("g2")
    wait_for(lambda: server.packed("g1") and server.packed("g2"), _START_SECONDS, "both groups to be packed")
    wait_for(lambda: any("worker_died" in line for line in server.log), what="a word about the death")
    assert first[0] not in server.workers()


def test_killing_the_server_leaves_no_worker(server: Eager) -> None:
    server.push("g1")
    wait_for(server.workers, _START_SECONDS, "a worker")
    pids = server.workers()
    os.kill(server.pid, signal.SIGKILL)
    wait_for(lambda: not any(map(_is_alive, pids)), 5, "the worker to end with its parent")


def test_stopping_the_server_takes_the_worker_along_in_time(server: Eager) -> None:
    server.push("g1")
    wait_for(server.workers, _START_SECONDS, "a worker")
    pids = server.workers()
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 8
    assert not any(map(_is_alive, pids))
    assert server.rows("SELECT pid FROM workers") == []


def test_a_worker_of_its_own_does_the_work_of_a_server_without(tmp_path: Path) -> None:
    server = Eager(tmp_path / "data", "--no-worker")
    server.start()
    try:
        server.push("g1")
        time.sleep(2.5)
        assert not server.packed("g1")
        environment = {**server._env(), "BENCHLOOP_SERVER_DATA": str(server.data)}
        worker = subprocess.Popen([_PROGRAM, "worker"], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            wait_for(lambda: server.packed("g1"), _START_SECONDS, "the group to be packed")
            worker.terminate()
            assert worker.wait(20) == 0
            assert b"work_ended" in (worker.stderr.read() if worker.stderr else b"")
        finally:
            worker.kill()
    finally:
        server.stop()
