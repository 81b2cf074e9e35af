"""The look for a newer version by the installed program: what it asks, says and remembers, and that nothing ever waits for it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.contract.version import PROJECT_URL, __version__
from tests.conftest import missing
from tests.support.documented import Documented
from tests.support.programs import CANARY, Bl, canary_in
from tests.support.scripted import Answer, Scripted, scripted

WHEEL = "benchloop_client-99.1.0-py3-none-any.whl"
METADATA = f"Metadata-Version: 2.4\nName: benchloop_client\nProject-URL: Homepage, {PROJECT_URL}\n\n"
ON = {"BENCHLOOP_NO_UPDATE_CHECK": ""}
#: A command that takes a moment, so that a look-up beside it ends.
SLOW = ("jobs", "get", "-g", "SLOW")


@pytest.fixture
def index() -> Iterator[Scripted]:
    """An index on this machine that has a newer version of ours."""
    with scripted() as running:
        page = {"meta": {"api-version": "1.1"}, "files": [{"filename": WHEEL, "url": f"/f/{WHEEL}", "core-metadata": True}]}
        headers = {"Content-Type": "application/vnd.pypi.simple.v1+json"}
        running.on("GET /simple/benchloop-client/", Answer(body=json.dumps(page).encode(), headers=headers))
        running.on(f"GET /f/{WHEEL}.metadata", Answer(body=METADATA.encode(), headers={"Content-Type": "text/plain"}))
        yield running


@pytest.fixture
def slow(server: Scripted, old: Documented) -> None:
    """A group whose list takes two seconds."""
    answer = {"jobs": [{"job_id": "J"}], "total": 1}
    server.on("GET /openapi/jobs", Answer(body=json.dumps(answer).encode(), headers={"Content-Type": "application/json"}, delay=2.0))


def asked_of(index: Scripted) -> dict[str, str]:
    """The variables that switch the look on and name that index to pip."""
    return {**ON, "PIP_INDEX_URL": f"{index.origin}/simple/", "PIP_CONFIG_FILE": "/dev/null"}


def remembered(home: Path) -> dict[str, Any]:
    """The file, empty if it is not there."""
    path = home / "cache" / "benchloop" / "version-check.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def notice(text: str) -> list[str]:
    """The lines of the notice."""
    return [line for line in text.splitlines() if line.startswith("[update] ")]


@pytest.mark.usefixtures("slow")
def test_a_newer_version_is_named_at_the_end_on_stderr_once_a_day(bl: Bl, index: Scripted, home: Path) -> None:
    done = bl(*SLOW, **asked_of(index))
    assert done.code == 0, done
    assert len(notice(done.err)) == 2
    assert f"benchloop_client 99.1.0 is available, this is {__version__}" in done.err
    assert "install --upgrade benchloop-client" in done.err
    assert "[update]" not in done.out
    known = remembered(home)
    assert (known["latest_version"], known["project"]) == ("99.1.0", PROJECT_URL)
    assert abs(known["checked_at"] - time.time()) < 120
    again = bl("groups", "get", "-g", "G1", **asked_of(index))
    assert notice(again.err) == []
    assert len(index.seen) == 2


@pytest.mark.usefixtures("old")
def test_a_short_command_shows_what_an_earlier_one_found(bl: Bl, index: Scripted, home: Path) -> None:
    cache = home / "cache" / "benchloop" / "version-check.json"
    cache.parent.mkdir(parents=True)
    cache.write_text(json.dumps({"checked_at": time.time() - 60, "latest_version": "99.1.0", "project": PROJECT_URL}))
    assert len(notice(bl("groups", "get", "-g", "G1", **asked_of(index)).err)) == 2
    assert notice(bl("groups", "get", "-g", "G1", **asked_of(index)).err) == []
    assert index.seen == []


@pytest.mark.usefixtures("slow")
def test_the_index_never_sees_the_key(bl: Bl, index: Scripted, home: Path) -> None:
    bl(*SLOW, **asked_of(index))
    assert len(index.seen) == 2
    assert not canary_in(*(f"{seen.target}{dict(seen.headers)}" for seen in index.seen), json.dumps(remembered(home)), canary=CANARY)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    "more",
    [
        {"BENCHLOOP_NO_UPDATE_CHECK": "1"},
        {"CI": "true"},
        {"CI": "1"},
        {"PIP_NO_INDEX": "1"},
    ],
)
def test_who_does_not_want_it_is_left_alone(bl: Bl, index: Scripted, more: dict[str, str]) -> None:
    done = bl(*SLOW, **{**asked_of(index), **more})
    assert (done.code, notice(done.err), index.seen) == (0, [], [])


@pytest.mark.usefixtures("slow")
def test_the_configuration_file_switches_it_off(bl: Bl, index: Scripted, home: Path) -> None:
    config = home / ".benchloop" / "config.toml"
    config.parent.mkdir()
    config.write_text("[profile]\nupdate_check = false\n")
    assert notice(bl(*SLOW, **asked_of(index)).err) == []
    assert index.seen == []


@pytest.mark.usefixtures("slow")
def test_quiet_is_quiet(bl: Bl, index: Scripted) -> None:
    done = bl(*SLOW, "-q", **asked_of(index))
    assert (done.code, done.err, index.seen) == (0, "", [])


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("--version",),
        ("--help",),
        ("jobs", "--help"),
        ("jobs", "get", "--help"),
        ("config", "set", "--host", "http://127.0.0.1:9"),
        ("jobs", "get"),
    ],
)
def test_what_uses_no_network_asks_nobody(bl: Bl, index: Scripted, home: Path, command: tuple[str, ...]) -> None:
    bl(*command, **asked_of(index))
    assert index.seen == []
    assert remembered(home) == {}


@pytest.mark.usefixtures("slow")
def test_another_project_of_our_name_is_not_spoken_of(bl: Bl, index: Scripted, home: Path) -> None:
    index.on(f"GET /f/{WHEEL}.metadata", Answer(body=b"Name: benchloop_client\nProject-URL: Homepage, https://other.test/\n\n"))
    assert notice(bl(*SLOW, **asked_of(index)).err) == []
    assert remembered(home)["checked_at"] > 0
    assert "latest_version" not in remembered(home)


@pytest.mark.usefixtures("slow")
def test_a_failure_is_remembered(bl: Bl, index: Scripted, home: Path) -> None:
    index.on("GET /simple/benchloop-client/", Answer(status=500))
    assert notice(bl(*SLOW, **asked_of(index)).err) == []
    assert remembered(home)["failed_at"] > 0
    bl(*SLOW, **asked_of(index))
    assert len(index.seen) == 1


@pytest.fixture
def black_hole() -> Iterator[str]:
    """An index that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/simple/"


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("command", [("groups", "get", "-g", "G1"), SLOW])
def test_an_index_that_never_answers_delays_nothing(bl: Bl, black_hole: str, home: Path, command: tuple[str, ...]) -> None:
    asking = {**ON, "PIP_INDEX_URL": black_hole}
    pairs = [(bl(*command).seconds, bl(*command, **asking, XDG_CACHE_HOME=str(home / f"cache{n}")).seconds) for n in range(5)]
    plain, with_look = (min(seconds) for seconds in zip(*pairs, strict=True))
    # On a machine that is busy with other things the few imports of a look-up take longer, as does everything else.
    assert with_look - plain < max(0.2, 0.6 * plain)


@pytest.mark.usefixtures("slow")
def test_an_unanswered_question_is_remembered(bl: Bl, black_hole: str, home: Path) -> None:
    assert notice(bl(*SLOW, **ON, PIP_INDEX_URL=black_hole).err) == []
    assert remembered(home)["tries"] == 1


@pytest.mark.usefixtures("slow")
def test_files_of_the_working_directory_are_not_run(bl: Bl, index: Scripted, tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "benchloop_client").mkdir(parents=True)
    (here / "pip").mkdir()
    trap = "import pathlib\npathlib.Path(__file__).with_name('ran').write_text('')\n"
    for name in ("json.py", "ssl.py", "configparser.py", "html.py", "sitecustomize.py", "benchloop_client/__init__.py", "pip/__init__.py"):
        (here / name).write_text(trap)
    done = bl(*SLOW, cwd=here, **asked_of(index))
    assert done.code == 0, done
    assert len(notice(done.err)) == 2
    assert list(here.rglob("ran")) == []


@pytest.mark.usefixtures("slow")
def test_no_child_process_is_started(bl: Bl, index: Scripted, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        missing("no strace")
    log = tmp_path / "trace"
    command = [str(strace), "-f", "-e", "trace=execve", "-o", str(log), bl.program, *SLOW]
    subprocess.run(command, env=bl.env(**asked_of(index)), cwd=bl.home, capture_output=True, timeout=60, check=True)
    assert len(index.seen) == 2
    assert log.read_text().count("execve(") == 1
