"""What a person sees: in a terminal one steady line for each long command; on a log few lines; in a pipe that closes, nothing at all."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from benchloop_client.samples.large import write_large
from tests.conftest import missing
from tests.support.documented import Documented, document
from tests.support.programs import Bl, serving
from tests.support.scripted import Answer, Scripted, Seen, binary, of_json
from tests.support.terminals import TMUX, on_pty, on_screen, samples

#: The drawn line: what is under way, how many, how many bytes, how fast, how long still.
_DRAWN = re.compile(
    r"\[progress\] (?P<label>.+?) (\[[#-]{20}\] )?(?P<counts>\d+/(\d+|\?) \w+(, \d+/\d+ \w+)?) [\d.]+ k?M?B [\d.]+ k?M?B/s eta=[\d:-]+"
)
_JOBS = [f"J{n}" for n in range(60)]


@pytest.fixture
def terminal(tmp_path: Path) -> Path:
    """A folder for the terminal's socket, whose path must be short."""
    if TMUX is None:
        missing("tmux is not installed")
    return tmp_path


@pytest.fixture
def slow(old: Documented) -> Documented:
    """A server whose every document and archive takes a third of a second."""
    old.fill("G1", _JOBS)

    def trajectory(seen: Seen) -> Answer:
        return of_json(document(seen.path_ids["job"], "x" * 30_000), piece=8192, pause=0.08)

    def archive(_seen: Seen) -> Answer:
        return binary(gzip.compress(os.urandom(30_000)), piece=8192, pause=0.08)

    old.server.on("GET /openapi/jobs/{job}/trajectory", trajectory)
    old.server.on("GET /openapi/jobs/{job}/artifacts/download", archive)
    return old


def _steady(taken: Sequence[Sequence[str]], *, columns: int) -> list[re.Match[str]]:
    """The states of the drawn line. Asserts that there is never a second one, that it is the last line, and that it goes at the end."""
    found: list[re.Match[str]] = []
    for lines in taken:
        drawn = [match for match in map(_DRAWN.match, lines) if match]
        assert len(drawn) <= 1, "\n".join(lines)
        if drawn:
            assert lines[-1] == drawn[0].string, "\n".join(lines)
            assert len(lines[-1]) < columns
            found += drawn
    assert not any(map(_DRAWN.match, taken[-1])), "\n".join(taken[-1])
    assert taken[-1][-1] == "exit 0", "\n".join(taken[-1])
    return found


@pytest.mark.parametrize(
    ("arguments", "label", "unit"),
    [
        (("trajectory", "download", "-g", "G1"), "trajectories of G1", "jobs"),
        (("trajectory", "download", "-j", ",".join(_JOBS)), "job trajectory downloads", "jobs"),
        (("artifacts", "download", "-g", "G1"), "group artifact jobs G1", "jobs"),
        (("pull", "-g", "G1", "--with", "trajectory,artifacts"), None, "jobs"),
    ],
    ids=["trajectory-g", "trajectory-j", "artifacts", "pull"],
)
def test_a_long_command_shows_one_steady_line(
    terminal: Path, slow: Documented, bl: Bl, out: Path, arguments: tuple[str, ...], label: str | None, unit: str
) -> None:
    with on_screen(terminal, bl, (*arguments, "-o", str(out), "--concurrency", "6"), columns=110) as screen:
        taken = samples(screen)
    # Between what it fetches, `pull` counts its one group.
    states = [state for state in _steady(taken, columns=110) if label or state["label"] != "pull"]
    assert len({state["counts"] for state in states}) >= 4
    assert {state["label"] for state in states} <= ({label} if label else {"trajectories of G1", "group artifact jobs G1"})
    assert all(state["counts"].endswith(unit) for state in states)
    assert any("eta=0" in state.string for state in states)


def test_a_push_shows_one_steady_line(terminal: Path, tmp_path: Path, home: Path) -> None:
    write_large(tmp_path / "run", 60, 20_000, seed=1)
    with serving(tmp_path / "data") as server:
        bl = server.bl(home)
        arguments = ("--limit-rate", "150k", "push", str(tmp_path / "run"), "--group", "G1")
        with on_screen(terminal, bl, arguments, columns=110) as screen:
            taken = samples(screen)
    states = _steady([[line for line in lines if not line.startswith((" ", "[\n", "{", "}", "]"))] for lines in taken], columns=110)
    assert {state["label"] for state in states} <= {"reading G1", "pushing G1"}
    assert len({state.string for state in states}) >= 4


def test_a_narrow_terminal_has_one_line_all_the_same(terminal: Path, slow: Documented, bl: Bl, out: Path) -> None:
    with on_screen(terminal, bl, ("artifacts", "download", "-g", "G1", "-o", str(out), "--concurrency", "12"), columns=40) as screen:
        taken = samples(screen)
    assert taken[-1][-1] == "exit 0"
    drawn = [[line for line in lines if re.search(r"\d+/60 jobs [\d.]+ k?M?B [\d.]+ k?M?B/s eta=", line)] for lines in taken]
    assert all(len(lines) <= 1 for lines in drawn)
    assert sum(map(len, drawn)) >= 2
    assert not drawn[-1]


def test_one_request_at_a_time_shows_the_bytes_of_the_current_file(terminal: Path, slow: Documented, bl: Bl, out: Path) -> None:
    jobs = ",".join(_JOBS[:6])
    with on_screen(terminal, bl, ("artifacts", "download", "-j", jobs, "-o", str(out), "--concurrency", "1"), columns=110) as screen:
        taken = samples(screen, every=0.05)
    pattern = re.compile(r"\[progress\] \[[1-6]/6\] J\d/J\d\.tgz \[[#-]{20}\] [\d.]+ kB/30\.0 kB [\d.]+ k?M?B/s eta=\d\d:\d\d$")
    assert len({line for lines in taken for line in lines if pattern.match(line)}) >= 3
    assert not any(pattern.match(line) for line in taken[-1])


# ---- colours and dumb terminals ------------------------------------------------------------------------------------------------------


def _draw(bl: Bl, out: Path, **env: str) -> str:
    code, text = on_pty(
        [bl.program, "artifacts", "download", "-j", ",".join(_JOBS[:4]), "-o", str(out), "--concurrency", "2"],
        bl.env(**{"TERM": "xterm", **env}),
        bl.home,
    )
    assert code == 0, text
    return text


def test_a_terminal_is_drawn_on_with_and_without_colour(slow: Documented, bl: Bl, out: Path) -> None:
    for name, env in (("plain", {}), ("none", {"NO_COLOR": "1"}), ("forced", {"CLICOLOR_FORCE": "1"})):
        text = _draw(bl, out / name, **env)
        assert re.search(r"\r\[progress\] job artifact downloads ", text), name
        assert "\x1b" not in text


def test_a_dumb_terminal_gets_lines_only(slow: Documented, bl: Bl, out: Path) -> None:
    text = _draw(bl, out, TERM="dumb")
    assert "\r" not in text.replace("\r\n", "\n")
    assert "\x1b" not in text


@pytest.mark.parametrize(("env", "bold"), [({}, False), ({"CLICOLOR_FORCE": "1"}, True), ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False)])
def test_a_table_in_a_pipe_has_colour_only_if_that_is_forced(old: Documented, bl: Bl, env: dict[str, str], bold: bool) -> None:
    ran = bl("jobs", "get", "-g", "G1", "--format", "table", **env)
    assert ran.code == 0, ran
    assert ("\x1b[1m" in ran.out) is bold


# ---- logs ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
@pytest.mark.parametrize("what", ["trajectory", "artifacts"])
@pytest.mark.parametrize("count", [800, pytest.param(5000, marks=pytest.mark.soak)])
def test_cli_row_25_many_jobs_are_less_than_a_hundred_lines_on_a_log(old: Documented, bl: Bl, out: Path, what: str, count: int) -> None:
    """However many there are: 800 show a line a job as well as the 5,000 of `make soak`, and of the same test without a program."""
    old.fill("G1", [f"J{n}" for n in range(count)])
    if what == "trajectory":
        ran = bl("trajectory", "download", "-j", "-", "-o", str(out), stdin="\n".join(f"J{n}" for n in range(count)), timeout=240)
    else:
        ran = bl("artifacts", "download", "-g", "G1", "-o", str(out), timeout=240)
    assert ran.code == 0, ran
    assert len(ran.err.splitlines()) < 100
    assert not set(ran.err) & {"\r", "\x1b"}
    assert f"{count}/{count} jobs" in ran.err


# ---- pipes -----------------------------------------------------------------------------------------------------------------------------

_FORMATS = ["json", "jsonl", "csv", "table"]


@pytest.fixture
def many(old: Documented) -> Documented:
    """More rows than a pipe holds."""
    old.fill("G1", [f"J{n}" for n in range(3000)])
    return old


def _shell(bl: Bl, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script.replace("bl", shlex.quote(bl.program), 1)],
        env=bl.env(), cwd=bl.home, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize("form", _FORMATS)
@pytest.mark.parametrize("reader", ["head -1", "true", "head -c 70000 | tail -c 1"])
def test_cli_row_22_a_reader_that_goes_away_ends_it_quietly(many: Documented, bl: Bl, form: str, reader: str) -> None:
    ran = _shell(bl, f"bl jobs get -g G1 --all --format {form} | {reader}")
    assert (ran.returncode, ran.stderr) == (0, "")
    if reader == "head -1":
        assert len(ran.stdout.splitlines()) == 1


@pytest.mark.parametrize("form", _FORMATS)
def test_cli_row_22_a_closed_stdout_is_no_error(many: Documented, bl: Bl, form: str) -> None:
    ran = _shell(bl, f"bl jobs get -g G1 --all --format {form} >&-")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("command", ["groups -h", "--version", "jobs get -h"])
def test_cli_row_22_help_into_a_closed_pipe_is_quiet_too(old: Documented, bl: Bl, command: str) -> None:
    for script in (f"bl {command} | true", f"bl {command} >&-"):
        ran = _shell(bl, script)
        assert (ran.returncode, ran.stderr) == (0, ""), script


def test_a_closed_stderr_does_not_stop_the_data(old: Documented, bl: Bl) -> None:
    ran = _shell(bl, "bl jobs get -g G1,NO 2>&-")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert '"group_id": "G1"' in ran.stdout


@pytest.mark.parametrize("form", _FORMATS)
@pytest.mark.parametrize("env", [{"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "LANG": "C"}, {"PYTHONUTF8": "0", "LC_ALL": "POSIX"}])
def test_cli_row_29_data_is_utf_8_whatever_the_locale_says(
    server: Scripted, old: Documented, bl: Bl, form: str, env: dict[str, str]
) -> None:
    old.fill("G1", ["任务-🙂", "J-\u00e9", "J-e\u0301"])
    ran = bl("jobs", "get", "-g", "G1", "--format", form, **env)
    assert ran.code == 0, ran
    assert all(name in ran.out for name in ("任务-🙂", "J-\u00e9", "J-e\u0301"))


@pytest.fixture(autouse=True)
def _no_leftovers(tmp_path: Path) -> Iterator[None]:
    """No tmux server outlives its test."""
    yield
    if TMUX is not None and (tmp_path / "tmux").exists():
        subprocess.run([TMUX, "-S", str(tmp_path / "tmux"), "kill-server"], capture_output=True, timeout=20, check=False)
