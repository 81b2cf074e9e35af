"""`bl config`, profiles and keys from outside: what is stored, shown, asked and refused. B10 and rows 26 and 29 of the research."""

from __future__ import annotations

import os
import pty
import stat
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.documented import Documented
from tests.support.programs import CANARY, Bl, Result, canary_in, files_below
from tests.support.scripted import Scripted, of_json

FILE = """\
# kept
[profile]
host = "http://127.0.0.1:9" # why
mine = 1

[other]
x = [1, 2]
"""


@pytest.fixture
def bare(home: Path) -> Bl:
    """A client without host and key in the environment."""
    return Bl(home, key=None)


@pytest.fixture
def file(home: Path) -> Path:
    path = home / ".benchloop" / "config.toml"
    path.parent.mkdir()
    path.write_text(FILE)
    return path


def test_documented_set_writes_the_documented_file(bare: Bl, home: Path) -> None:
    done = bare("config", "set", "--api-key", "k1", "--host", "http://127.0.0.1:9/", "-o", "out")
    path = home / ".benchloop" / "config.toml"
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[-1] == f"wrote config to {path}"
    assert path.read_text() == '[profile]\nhost = "http://127.0.0.1:9"\napi_key = "k1"\noutput_dir = "out"\n'


def test_b10_other_keys_tables_and_comments_stay(bare: Bl, file: Path) -> None:
    assert bare("config", "set", "--api-key", 'k"\\1').code == 0
    assert file.read_text() == FILE.replace("mine = 1\n", 'mine = 1\napi_key = "k\\"\\\\1"\n')
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_b10_a_broken_file_is_named_with_its_line_and_never_overwritten(bare: Bl, file: Path) -> None:
    file.write_text("[profile]\nhost = \n")
    for command in (("config", "set", "--host", "http://127.0.0.1:9"), ("groups", "list"), ("config", "list"), ("config", "unset", "host")):
        done = bare(*command)
        assert (done.code, done.out) == (2, ""), done
        assert f"{file}:2: " in done.err
    assert file.read_text() == "[profile]\nhost = \n"


def test_b10_a_value_with_a_line_end_is_refused(bare: Bl, file: Path) -> None:
    for option, value in (("--api-key", "k\n1"), ("--host", "http://x\ny"), ("--output-dir", "a\nb"), ("--proxy", "http://p\n")):
        assert bare("config", "set", option, value).code == 2, option
    assert file.read_text() == FILE


def test_b10_the_programs_own_config_option_counts(bare: Bl, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert bare("--config", str(path), "config", "set", "--host", "http://127.0.0.1:9").code == 0
    assert path.exists() and not (home / ".benchloop").exists()
    assert bare("config", "set", "--retry", "1", "--config", str(path)).code == 0
    assert "retry = 1" in path.read_text()


def test_b10_a_missing_config_path_is_two(bare: Bl, tmp_path: Path) -> None:
    done = bare("--config", str(tmp_path / "none.toml"), "groups", "list")
    assert done.code == 2
    assert "does not exist" in done.err


def test_b10_tilde_in_the_output_dir_is_the_home_folder(old: Documented, bl: Bl, home: Path) -> None:
    assert bl("config", "set", "-o", "~/data").code == 0
    assert bl("metrics", "download", "-j", "J1").code == 0
    assert "data/J1_run_metrics.json" in files_below(home)
    assert not (home / "~").exists()


def test_b10_several_profiles(old: Documented, bare: Bl, home: Path) -> None:
    origin = old.server.origin
    assert bare("config", "set", "--profile", "lab", "--host", origin, "--api-key", CANARY).code == 0
    assert bare("config", "set", "--host", "http://127.0.0.1:9").code == 0
    for done in (
        bare("--profile", "lab", "metrics", "get", "-j", "J1"),
        bare("metrics", "get", "-j", "J1", "--profile", "lab"),
        bare("metrics", "get", "-j", "J1", BENCHLOOP_PROFILE="lab"),
    ):
        assert done.code == 0, done
    assert {seen.key for seen in old.server.asked()} == {CANARY}
    assert bare("metrics", "get", "-j", "J1", "--retry", "0").code == 4
    assert bare("metrics", "get", "-j", "J1", "--profile", "nope").code == 2


def test_list_shows_sources_and_masks_the_key(bl: Bl, file: Path) -> None:
    file.write_text('[profile]\ntimeout = 9\nproxy = "http://joe:s3cret-word@127.0.0.1:9"\n')
    done = bl("config", "list", "--concurrency", "2")
    found = {row["key"]: (row["value"], row["source"]) for row in done.json}
    assert found["timeout"] == (9, str(file))
    assert found["concurrency"] == (2, "flag")
    assert found["api_key"] == ("***", "BENCHLOOP_API_KEY")
    assert found["retry"] == (2, "default")
    assert found["proxy"] == ("127.0.0.1:9", str(file))
    table = bl("config", "list", "--format", "table")
    assert table.out.splitlines()[0].split() == ["KEY", "VALUE", "FROM"]
    assert not canary_in(done.out, done.err, table.out, table.err, canary="s3cret-word")
    assert not canary_in(done.out, done.err, table.out, table.err)


def test_get_prints_one_value(bl: Bl, file: Path) -> None:
    assert bl("config", "get", "api_key").out == "***\n"
    assert bl("config", "get", "api_key", "--show-key").out == f"{CANARY}\n"
    assert bl("config", "get", "host", BENCHLOOP_HOST="").out == "http://127.0.0.1:9\n"
    unset = bl("config", "get", "proxy")
    assert (unset.code, unset.out) == (1, "")
    assert bl("config", "get", "nope").code == 2


def test_unset_takes_out_keys_and_profiles(bare: Bl, file: Path) -> None:
    bare("config", "set", "--profile", "x", "retry", "3")
    assert bare("config", "unset", "host", "proxy").code == 0
    assert "host" not in file.read_text() and "mine = 1" in file.read_text()
    assert bare("config", "unset", "--profile", "x", "--all").code == 0
    assert "profile.x" not in file.read_text()
    assert bare("config", "unset").code == 2
    assert bare("config", "unset", "nope").code == 2
    assert bare("config", "unset", "retry", "--profile", "y").code == 2


def test_path_prints_the_file(bare: Bl, home: Path) -> None:
    assert bare("config", "path").out == f"{home}/.benchloop/config.toml\n"
    assert bare("config", "path", "--config", "~/c.toml").out == f"{home}/c.toml\n"


@pytest.mark.parametrize("option", [("--api-key-stdin",), ("--api-key", "-")])
def test_a8_the_key_comes_from_stdin(bare: Bl, home: Path, option: Sequence[str]) -> None:
    done = bare("config", "set", *option, stdin=f"{CANARY}\n")
    assert done.code == 0, done
    assert f'api_key = "{CANARY}"' in (home / ".benchloop" / "config.toml").read_text()
    assert not canary_in(done.out, done.err)
    assert bare("config", "set", *option, stdin="\n").code == 2


def test_a8_a_key_on_the_command_line_is_warned_about_once(bare: Bl) -> None:
    done = bare("config", "set", "--api-key", "k1")
    assert done.err.count("shows in process lists") == 1
    assert "shows in" not in bare("config", "set", "--api-key", "k1", "-q").err


@pytest.mark.parametrize("place", ["before", "between", "after"])
def test_a8_any_command_takes_the_key_from_stdin(old: Documented, bare: Bl, place: str) -> None:
    words = [["--api-key-stdin"] if place == name else [] for name in ("before", "between", "after")]
    done = bare(*words[0], "metrics", *words[1], "get", "-j", "J1", "--host", old.server.origin, *words[2], stdin=f"{CANARY}\n")
    assert done.code == 0, done
    assert {seen.key for seen in old.server.asked()} == {CANARY}


def test_stdin_cannot_hold_key_and_ids(old: Documented, bare: Bl) -> None:
    done = bare("metrics", "get", "-j", "-", "--host", old.server.origin, "--api-key-stdin", stdin="J1\n")
    assert done.code == 2
    assert "stdin holds the key" in done.err
    twice = bare("metrics", "get", "-j", "J1", "--host", old.server.origin, "--api-key-stdin", "--api-key", "k", stdin="k\n")
    assert twice.code == 2


def test_a_mistaken_variable_gets_a_hint(server: Scripted, bare: Bl) -> None:
    server.fallback = lambda _seen: of_json({"error": "no key"}, 401)
    done = bare("metrics", "get", "-j", "J1", "--host", server.origin, BENCH_LOOP_API_KEY=CANARY)
    assert done.code == 3
    assert done.err.splitlines()[0] == "[warn] BENCH_LOOP_API_KEY is set, but nothing reads it: did you mean BENCHLOOP_API_KEY?"
    assert not canary_in(done.out, done.err)


def test_set_without_anything_is_two_where_nobody_can_be_asked(bare: Bl) -> None:
    done = bare("config", "set")
    assert done.code == 2
    assert "provide at least one of --api-key/--host/--output-dir" in done.err
    assert bare("config", "set", "--api-key-prompt").code == 2


def at_terminal(bl: Bl, typed: Sequence[tuple[str, str]], *args: str, timeout: float = 30, **env: str) -> Result:
    """Run at a terminal of its own; for each pair wait for the first text and type the second."""
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the program takes the place of this process
        os.execve(bl.program, [bl.program, *args], bl.env(**{"TERM": "xterm", **env}))
    shown, waiting, end = "", list(typed), time.monotonic() + timeout
    os.set_blocking(terminal, False)
    while time.monotonic() < end:
        try:
            shown += os.read(terminal, 4096).decode("utf-8", "replace") or "\0"
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:
            break
        if waiting and waiting[0][0] in shown.replace("\r", ""):
            os.write(terminal, f"{waiting.pop(0)[1]}\n".encode())
    os.close(terminal)
    return Result(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.replace("\r", ""), "")


def test_set_asks_a_person_for_host_and_key_and_does_not_show_it(bare: Bl, home: Path) -> None:
    done = at_terminal(bare, [("Host", "http://127.0.0.1:9"), ("API key", CANARY)], "config", "set")
    assert done.code == 0, done
    text = (home / ".benchloop" / "config.toml").read_text()
    assert text == f'[profile]\nhost = "http://127.0.0.1:9"\napi_key = "{CANARY}"\n'
    assert not canary_in(done.out)


def test_the_key_prompt_stores_the_key(bare: Bl, home: Path) -> None:
    done = at_terminal(bare, [("API key", CANARY)], "config", "set", "--api-key-prompt")
    assert done.code == 0, done
    assert CANARY in (home / ".benchloop" / "config.toml").read_text()
    assert not canary_in(done.out)


def test_a8_a_key_typed_with_any_command_is_warned_about_once_at_a_terminal(old: Documented, bare: Bl) -> None:
    words = ("--api-key", CANARY, "metrics", "get", "-j", "J1", "--host", old.server.origin, "--api-key", CANARY)
    done = at_terminal(bare, [], *words)
    assert (done.code, done.out.count("shows in process lists")) == (0, 1), done
    assert "shows in" not in bare(*words).err


@pytest.mark.parametrize(
    ("env", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_at_a_terminal(bare: Bl, env: dict[str, str], coloured: bool) -> None:
    assert ("\x1b[" in at_terminal(bare, [], "doctor", "--host", "http://127.0.0.1:9", **env).out) is coloured


def test_colours_off_a_terminal_only_where_they_are_forced(bare: Bl) -> None:
    words = ("doctor", "--host", "http://127.0.0.1:9")
    assert "\x1b[" not in bare(*words).out
    assert "\x1b[" in bare(*words, CLICOLOR_FORCE="1").out


def test_list_at_a_terminal_is_a_table(bare: Bl) -> None:
    assert at_terminal(bare, [], "config", "list").out.startswith("KEY ")


def test_saving_is_atomic_under_kills(bare: Bl, file: Path) -> None:
    """Whenever the writer is killed, the file is the old one or the new one."""
    allowed = {FILE, FILE.replace("mine = 1\n", "mine = 1\nretry = 7\n")}
    for pause in (0.05, 0.12, 0.16, 0.2, 0.24):
        process = subprocess.Popen([bare.program, "config", "set", "--retry", "7"], env=bare.env(), stderr=subprocess.DEVNULL)
        time.sleep(pause)
        process.kill()
        process.wait(10)
        assert file.read_text() in allowed


@pytest.mark.parametrize("encoding", [{"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}])
def test_row_29_any_encoding_of_the_streams(bare: Bl, home: Path, encoding: dict[str, str]) -> None:
    assert bare("config", "set", "-o", "données-数据-🎯", **encoding).code == 0
    done = bare("config", "list", "--format", "table", **encoding)
    assert done.code == 0, done
    assert "Traceback" not in done.err
    assert "données-数据-🎯" in done.out


@pytest.mark.parametrize(
    "command",
    [("config", "list"), ("config", "list", "-vv"), ("doctor",), ("doctor", "-vv", "--format", "json"), ("whoami", "-vv"), ("whoami",)],
)
def test_row_26_the_key_is_in_no_output(server: Scripted, bl: Bl, home: Path, command: Sequence[str]) -> None:
    server.fallback = lambda seen: of_json({"error": f"you sent {seen.headers}"}, 500)
    done = bl(*command, "--retry", "0")
    assert "Traceback" not in done.err
    assert not canary_in(done.out, done.err, *files_below(home, hidden=True).values()), done
