"""Real bug reports about other programs, replayed on ours: a test is named after its row in the project's list of cases.

Here are the rows about commands, what they print, configuration and exit codes. Rows 26, 29 and 37 have more tests in tests/e2e; rows about
transfers are with the transfers.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from tests.e2e.conftest import bl, home, old, out, server
from tests.support.documented import Documented
from tests.support.inside import Inside, everything_below
from tests.support.programs import Bl, canary_in, files_below, interrupt, journal, wait_for
from tests.support.scripted import Answer, Scripted, Seen, error, html, of_json

__all__ = ["bl", "home", "old", "out", "server"]


@pytest.fixture
def inside(server: Scripted) -> Inside:
    """The client in this process."""
    return Inside(server.origin)


# ---- row 16: a page in place of data ------------------------------------------------------------------------------------------------

_GETS = [
    ("metrics", "get", "-j", "J1"),
    ("metrics", "get", "-g", "G1"),
    ("trajectory", "get", "-j", "J1"),
    ("trajectory", "get", "-g", "G1"),
    ("report", "get", "-j", "J1"),
    ("rsi", "get", "-g", "G1"),
    ("jobs", "get", "-g", "G1"),
    ("tasks", "get", "-g", "G1", "--all"),
    ("overview", "get", "-g", "G1"),
    ("brm", "list", "-g", "G1"),
    ("metadata", "get", "-j", "J1"),
    ("groups", "list"),
    ("whoami",),
]
_DOWNLOADS = [
    ("metrics", "download", "-j", "J1"),
    ("trajectory", "download", "-g", "G1"),
    ("trajectory", "download", "--task-id", "G1"),
    ("report", "download", "-g", "G1"),
    ("jobs", "download", "-g", "G1"),
    ("tasks", "download", "-g", "G1"),
    ("metadata", "download", "--task-id", "G1"),
    ("pull", "-g", "G1", "--with", "metrics,trajectory,report,tasks,jobs,metadata,rsi"),
]


@pytest.mark.parametrize("command", [*_GETS, *_DOWNLOADS], ids=" ".join)
def test_row_16_a_page_is_never_data(server: Scripted, inside: Inside, out: Path, command: tuple[str, ...]) -> None:
    server.fallback = lambda _seen: html("<html><title>429 Too Many Requests</title></html>")
    done = inside(*command, *(("-o", str(out)) if command in _DOWNLOADS else ()))
    assert done.code in {1, 3}, str(done)
    assert "<html" not in done.out + done.err
    assert files_below(out) == {}


# ---- row 21: exit codes -------------------------------------------------------------------------------------------------------------

#: What can go wrong with one job, and the exit code when it does with every one.
_KINDS: dict[str, tuple[Answer, int]] = {
    "404": (error(404, "none"), 1),
    "403": (error(403, "not yours"), 1),
    "500": (error(500, "broken"), 1),
    "429": (error(429, "too many"), 1),
    "cut": (Answer(body=b'{"job_id": 1}', length=100, sent=5, headers={"Content-Type": "application/json"}), 4),
    "reset": (Answer(reset=True, sent=0, body=b"x"), 4),
    "no JSON": (Answer(body=b"{", headers={"Content-Type": "application/json"}), 1),
    "page": (html(), 1),
    "401": (error(401, "no"), 3),
}


@pytest.mark.parametrize("how_many", [1, 2, 3])
@pytest.mark.parametrize("kind", _KINDS)
def test_row_21_every_failure_has_its_code_and_its_name(old: Documented, inside: Inside, out: Path, kind: str, how_many: int) -> None:
    answer, code = _KINDS[kind]
    bad = [f"J{n}" for n in range(1, how_many + 1)]
    for name in bad:
        old.trajectories[name] = answer
    done = inside("--concurrency", "1", "trajectory", "download", "-j", "J1,J2,J3", "-o", str(out))
    assert done.code == (code if how_many == 3 or code == 3 else 1), str(done)
    if code != 3:
        assert [name for name in ("J1", "J2", "J3") if f"- {name}: " in done.err] == bad
        assert sorted(files_below(out)) == [f"J{n}_trajectory.json" for n in range(how_many + 1, 4)]
        assert {line["path"] for line in journal(out) if line["status"] == "done"} == set(files_below(out))


@pytest.mark.parametrize("command", [*_GETS, *_DOWNLOADS], ids=" ".join)
def test_row_21_nothing_that_failed_is_0(server: Scripted, inside: Inside, out: Path, command: tuple[str, ...]) -> None:
    server.fallback = lambda _seen: error(500, "out of order")
    done = inside(*command, *(("-o", str(out)) if command in _DOWNLOADS else ()))
    assert done.code == 1, str(done)
    assert "out of order" in done.err or command == ("whoami",)


# ---- row 22: a reader that goes away ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pipe", ["| head -c 1", "| true", ">&-", "| head -1"])
@pytest.mark.parametrize("command", ["jobs get -g G9 --all", "jobs get -g G9 --all --format table", "--help", "completion bash"])
def test_row_22_a_pipe_that_closes_is_quiet(old: Documented, bl: Bl, pipe: str, command: str) -> None:
    old.fill("G9", [f"J{n}" for n in range(900)])
    shell = f'set -o pipefail; "{bl.program}" -q {command} {pipe}'
    done = subprocess.run(["bash", "-c", shell], env=bl.env(), capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.returncode == 0


# ---- row 23: Ctrl-C -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("metrics", "get", "-j", "J1,J2"), ("trajectory", "download", "-g", "G1"), ("doctor",)])
def test_row_23_ctrl_c_ends_at_once(server: Scripted, old: Documented, bl: Bl, command: tuple[str, ...]) -> None:
    slow = Answer(body=b"x" * 60, headers={"Content-Type": "application/json"}, piece=1, pause=1)
    server.clear()
    server.fallback = lambda _seen: slow
    process = bl.start(*command)
    wait_for(lambda: bool(server.seen), 30)
    time.sleep(0.3)
    done, took = interrupt(process)
    assert done.code == 130, str(done)
    assert took < 2.5, "one second, and as much again for a machine that is busy"
    assert "Traceback" not in done.err
    assert done.out == "" or command == ("doctor",)


# ---- row 25: a log is not flooded ---------------------------------------------------------------------------------------------------


def test_row_25_a_log_stays_short(old: Documented, inside: Inside, out: Path) -> None:
    old.fill("G9", [f"J{n}" for n in range(400)])
    done = inside("report", "download", "-g", "G9", "-o", str(out))
    assert done.code == 0, str(done)
    assert len(done.err.splitlines()) < 100
    assert "\r" not in done.err and "\x1b" not in done.err


# ---- row 26: the key ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [*_GETS, *_DOWNLOADS, ("doctor",), ("config", "list")], ids=" ".join)
@pytest.mark.parametrize("status", [200, 302, 401, 500])
def test_row_26_no_stream_and_no_file_holds_the_key(
    server: Scripted, inside: Inside, out: Path, command: tuple[str, ...], status: int
) -> None:
    """A server that repeats what it was sent, as a sentence, as a page and as an address."""

    def echo(seen: Seen) -> Answer:
        told = json.dumps({"error": f"refused {dict(seen.headers)}", "code": seen.key})
        headers = {"Content-Type": "application/json", "Location": f"/openapi/login?key={seen.key}", "X-Request-Id": seen.key or ""}
        return Answer(status, told.encode() if status != 200 else f"<html>{told}".encode(), headers)

    server.fallback = echo
    done = inside(*command, "-vv", *(("-o", str(out)) if command in _DOWNLOADS else ()))
    everything = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
    assert not canary_in(done.out, done.err, *everything), str(done)


# ---- row 27: names ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "/abs", "a/../b", "..", ".", "a\\..\\b", "a/b", "x\0y"])
def test_row_27_names_stay_inside(old: Documented, inside: Inside, tmp_path: Path, name: str) -> None:
    """An artifact's name and a group's id: refused, or one harmless file name."""
    entries = [{"name": name, "url": "/openapi/jobs/J1/artifacts/download"}]
    old.server.on("GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": entries}))
    root = tmp_path / "deep" / "root"
    root.mkdir(parents=True)
    before = everything_below(tmp_path)
    done = inside("artifacts", "download", "-j", "J1", "-o", str(root))
    assert done.code in {0, 1}, str(done)
    old.fill(name, ["J1"])
    done = inside("jobs", "download", "-g", name, "-o", str(root))
    assert done.code in {0, 2}, str(done)
    assert all(path.startswith("deep/root/") for path in everything_below(tmp_path) - before)


@pytest.mark.parametrize("name", ["a..b", ".foo", "foo.bar.", "..a", ".thing.output.json", "a b", "名前.tgz"])
def test_row_27_harmless_names_are_kept(old: Documented, inside: Inside, out: Path, name: str) -> None:
    entries = [{"name": name, "url": "/openapi/jobs/J1/artifacts/download"}]
    old.server.on("GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": entries}))
    done = inside("artifacts", "download", "-j", "J1", "-o", str(out))
    assert done.code == 0, str(done)
    # A dot at the end cannot be kept on every system.
    assert list(files_below(out)) == [f"J1/{name.removesuffix('.')}{'%2E' if name.endswith('.') else ''}"]


# ---- row 29: letters ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["名前", "\U0001f600", unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"), "a\udcffb"])
def test_row_29_any_letters_come_through(old: Documented, inside: Inside, name: str) -> None:
    """Half an emoji, as bytes that are no UTF-8 become in arguments, is no crash either."""
    asked: list[str] = []

    def answer(seen: Seen) -> Answer:
        asked.append(seen.target)
        return of_json({"job_id": name, "metrics": {"note": name}})

    old.server.on("GET /openapi/metrics/{j}", answer)
    done = inside("metrics", "get", "-j", name)
    assert "Traceback" not in done.err
    assert len(asked) == 1
    assert done.code == 0, str(done)
    assert done.json[0]["metrics"]["note"].encode("utf-8", "replace") == name.encode("utf-8", "replace").replace(b"?", "�".encode())


# ---- row 32: a list that moves ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [500, 1000])
@pytest.mark.parametrize("moved", [10, -10, 0])
def test_row_32_the_list_is_whole_or_the_failure_loud(old: Documented, inside: Inside, moved: int, cap: int) -> None:
    """Jobs come or go between pages, all with one time, and the total is wrong."""
    old.cap = cap
    old.fill("G9", [f"J{n:04}" for n in range(1700)], created_at="2026-01-01T00:00:00Z")
    listed, left = old._jobs, [moved]

    def page(seen: Seen) -> Answer:
        rows = old.groups["G9"]
        if int(seen.query.get("skip", 0)) and left:
            by = left.pop()
            old.groups["G9"] = [{**rows[0], "job_id": f"NEW{n}"} for n in range(by)] + rows if by > 0 else rows[-by:]
        return listed(seen)

    old.server.on("GET /openapi/jobs", page)
    done = inside("jobs", "get", "-g", "G9", "--all")
    stayed = {row["job_id"] for row in old.groups["G9"] if not row["job_id"].startswith("NEW")}
    if done.code == 0:
        found = [row["job_id"] for row in done.json[0]["jobs"]]
        assert len(found) == len(set(found))
        assert stayed <= set(found), "a job that was there all the time is missing"
    else:
        assert done.code == 1 and "G9" in done.err, str(done)
        assert moved, "a list that stands still can be read"


# ---- row 39: without a network ------------------------------------------------------------------------------------------------------

_NO_SOCKETS = """
import sys
def refuse(event, args):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        print("NETWORK", event, args, file=sys.stderr)
sys.addaudithook(refuse)
from benchloop_client.cli.main import run
code = run(sys.argv[1:])
sys.exit(code)
"""


@pytest.mark.parametrize(
    "command", [["--version"], ["--help"], ["jobs", "--help"], ["config", "path"], ["completion", "zsh"]], ids=" ".join
)
def test_row_39_what_needs_no_server_touches_no_network(home: Path, command: list[str]) -> None:
    """With the look for a newer version switched on and an index named."""
    index = {"PIP_INDEX_URL": "http://192.0.2.1/simple/", "HTTPS_PROXY": "http://192.0.2.1:9"}
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", **index}
    done = subprocess.run([sys.executable, "-c", _NO_SOCKETS, *command], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


# ---- row 40: what it is built on ----------------------------------------------------------------------------------------------------


def test_row_40_everything_it_is_built_on_is_declared_with_both_ends() -> None:
    needed = [line for line in importlib.metadata.requires("benchloop_client") or [] if "extra ==" not in line]
    for name in ("click", "rich", "msgspec", "tomlkit"):
        line = next((each for each in needed if each.startswith(name)), "")
        assert ">=" in line and "<" in line.partition(";")[0], f"{name}: {line!r} has no lower or no upper end"
