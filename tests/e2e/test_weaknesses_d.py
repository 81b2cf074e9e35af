"""Faults A3 and D1 to D4 of the original client, all of them about its look for a newer version.

The index is a hole that takes connections and never answers. The original asks an address of its own, which reaches the hole as its proxy.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from benchloop_client.contract.version import PROJECT_URL
from tests.support.documented import Documented
from tests.support.programs import Bl
from tests.support.scripted import Answer, Scripted, Seen

#: A command that takes a moment, so that a look-up beside it begins.
SLOW = ("jobs", "get", "-g", "SLOW")


class Hole:
    """Takes connections, counts them, and never answers."""

    def __init__(self) -> None:
        self.taken: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                self.taken.append(self._listener.accept()[0])

    def close(self) -> None:
        """Let go of everything."""
        self._listener.close()
        for connection in self.taken:
            connection.close()


@pytest.fixture
def hole() -> Iterator[Hole]:
    """A hole for the length of a test."""
    made = Hole()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def slow(server: Scripted, old: Documented) -> None:
    """A group whose list takes two seconds, and one whose list takes less than one."""
    body = json.dumps({"jobs": [{"job_id": "J", "created_at": None}], "total": 1}).encode()

    def answer(seen: Seen) -> Answer:
        return Answer(body=body, headers={"Content-Type": "application/json"}, delay=2.0 if seen.query["group_id"] == "SLOW" else 0.8)

    server.on("GET /openapi/jobs", answer)


def asking(hole: Hole) -> dict[str, str]:
    """The variables that switch the look on and lead it to the hole."""
    index = {"PIP_INDEX_URL": f"{hole.address}/simple/", "PIP_CONFIG_FILE": "/dev/null", "BENCHLOOP_NO_UPDATE_CHECK": ""}
    return {**index, "HTTPS_PROXY": hole.address, "NO_PROXY": "127.0.0.1,localhost"}


@pytest.mark.parametrize(
    ("options", "variables"), [(("-q",), {}), ((), {"CI": "true"}), ((), {"BENCHLOOP_NO_UPDATE_CHECK": "1"})], ids=["quiet", "ci", "off"]
)
def test_d1_nobody_is_asked_where_nobody_wants_to_know(bl: Bl, hole: Hole, options: tuple[str, ...], variables: dict[str, str]) -> None:
    assert bl(*options, *SLOW, **{**asking(hole), **variables}).code == 0
    time.sleep(1)
    assert hole.taken == []


def test_d2_a_pipe_of_both_streams_ends_with_the_command(bl: Bl, hole: Hole) -> None:
    def piped(**variables: str) -> float:
        began = time.monotonic()
        command = f'"{bl.program}" jobs get -g MOMENT 2>&1 | cat'
        done = subprocess.run(command, shell=True, env=bl.env(**variables), cwd=bl.home, capture_output=True, text=True, timeout=60)
        assert '"job_id"' in done.stdout
        return time.monotonic() - began

    with_look = piped(**asking(hole))
    assert hole.taken, "nobody was asked, so nothing was tried"
    assert with_look - piped(**asking(hole), XDG_CACHE_HOME=str(_remembering(bl.home))) < 1.5


def test_d3_an_index_that_does_not_answer_is_not_asked_by_every_command(bl: Bl, hole: Hole) -> None:
    for _ in range(3):
        assert bl(*SLOW, **asking(hole)).code == 0
    time.sleep(1)
    assert len(hole.taken) == 1


def test_a3_files_of_the_working_directory_are_not_run_by_the_look(bl: Bl, hole: Hole, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in ("json.py", "ssl.py", "configparser.py", "html.py", "sitecustomize.py"):
        (here / name).write_text("import pathlib\npathlib.Path(__file__).with_name('ran').write_text('')\n")
    bl(*SLOW, cwd=here, **asking(hole))
    time.sleep(1)
    assert not (here / "ran").exists()


def test_d4_the_notice_is_in_the_language_of_everything_else(bl: Bl, hole: Hole) -> None:
    done = bl(*SLOW, **asking(hole), XDG_CACHE_HOME=str(_remembering(bl.home)))
    assert len([line for line in done.err.splitlines() if line.startswith("[update] ")]) == 2
    assert done.err.isascii()


def _remembering(home: Path) -> Path:
    """A cache folder in which a newer version is known since a minute ago."""
    folder = home / "remembering"
    (folder / "benchloop").mkdir(parents=True, exist_ok=True)
    known = {"checked_at": time.time() - 60, "latest_version": "99.1.0", "project": PROJECT_URL}
    (folder / "benchloop" / "version-check.json").write_text(json.dumps(known))
    return folder
