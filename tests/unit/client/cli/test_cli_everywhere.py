"""What holds for every command: global options in each place, -h in each place, help with an example and exit codes. D8 of the research."""

from __future__ import annotations

import contextlib
import io
import itertools
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from benchloop_client.cli.app import ROOT, SUMMARIES, run
from benchloop_client.cli.env import Env
from benchloop_client.cli.options import Leaf, global_options
from benchloop_client.cli.session import Session
from benchloop_client.settings import Flags, Settings, load

#: Arguments of commands that look at what they are given.
_ARGUMENTS = {"config get": ["host"], "config set": [], "completion": ["bash"]} | {
    name: ["."] for name in ("push", "analyze", "verify", "retry")
}
#: One command line for each global option, and what is remembered of it.
_GIVEN: dict[str, tuple[list[str], Any]] = {
    "--api-key": (["--api-key", "k"], "k"),
    "--host": (["--host", "http://127.0.0.1:9"], "http://127.0.0.1:9"),
    "--output-dir": (["-o", "out"], "out"),
    "--pretty": (["--no-pretty"], False),
    "--timeout": (["--timeout", "9"], 9.0),
    "--retry": (["--retry", "7"], 7),
    "--concurrency": (["--concurrency", "3"], 3),
    "--verbose": (["-v"], 1),
    "--quiet": (["-q"], True),
    "--config": (["--config", "c.toml"], "c.toml"),
    "--profile": (["--profile", "p"], "p"),
    "--fsync": (["--fsync"], True),
    "--allow-http": (["--allow-http"], True),
    "--cacert": (["--cacert", "ca.pem"], "ca.pem"),
    "--proxy": (["--proxy", "none"], "none"),
}


def _context(command: click.Command, **more: Any) -> click.Context:
    return click.Context(command, **{**command.context_settings, **more})


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        ctx = _context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield from _commands(inner, (*path, name))


EVERY = dict(_commands(ROOT))
LEAVES = {path: command for path, command in EVERY.items() if not isinstance(command, click.Group)}


def _name(path: tuple[str, ...]) -> str:
    return " ".join(path) or "bl"


def _session() -> Session:
    def no_client(_settings: Settings, _cancel: threading.Event) -> Any:
        raise AssertionError("help and parsing ask no server")

    return Session(Env(None, io.BytesIO(), io.StringIO(), lambda: 0.0, lambda flags: load(flags, {}), no_client))


def _own(command: click.Command, name: str) -> bool:
    """Whether the command has an option of that name for itself."""
    return any(name in param.opts and param.expose_value for param in command.params)


def test_the_commands_below_cover_the_tree() -> None:
    assert {path[0] for path in LEAVES} == set(SUMMARIES)
    assert all(isinstance(command, Leaf) for command in LEAVES.values())


@pytest.mark.parametrize("path", EVERY, ids=_name)
def test_d8_every_command_knows_every_global_option(path: tuple[str, ...]) -> None:
    known = {name for param in EVERY[path].params for name in (*param.opts, *param.secondary_opts)}
    wanted = {name for param in global_options() for name in (*param.opts, *param.secondary_opts)}
    assert wanted <= known


@pytest.mark.parametrize("path", LEAVES, ids=_name)
def test_d8_a_global_option_after_the_command_is_remembered(path: tuple[str, ...]) -> None:
    command = LEAVES[path]
    required = sum(param.required for param in command.params if isinstance(param, click.Argument))
    rest = _ARGUMENTS.get(_name(path), ["x"] * required)
    needed = [word for param in command.params if isinstance(param, click.Option) and param.required for word in (param.opts[-1], "x")]
    for name, (words, value) in _GIVEN.items():
        if _own(command, name):
            continue
        session = _session()
        with command.make_context(path[-1], [*words, *needed, *rest], obj=session):
            assert session.given[name[2:].replace("-", "_")] == value, name


@pytest.mark.parametrize("path", [path for path in LEAVES if len(path) == 2], ids=_name)
def test_d8_global_options_and_help_in_each_place(path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    group, action = path
    for argv in (
        ["--retry", "7", group, action, "-h"],
        [group, "--retry", "7", action, "-h"],
        [group, action, "--retry", "7", "-h"],
        [group, "-h"],
        [group, action, "--help"],
    ):
        env = _session().env
        assert run(argv, env) == 0, (argv, env.stderr)


def test_d8_the_same_option_in_each_place_reaches_the_settings(bl: Any) -> None:
    for argv in (
        ["--retry", "7", "metrics", "get", "-j", "J1"],
        ["metrics", "--retry", "7", "get", "-j", "J1"],
        ["metrics", "get", "--retry", "7", "-j", "J1"],
        ["--retry", "1", "metrics", "--retry", "2", "get", "-j", "J1", "--retry", "7"],
    ):
        assert bl(*argv).settings[0].retry == 7, argv


@pytest.mark.parametrize("path", EVERY, ids=_name)
def test_help_has_a_summary_an_example_and_the_exit_codes(path: tuple[str, ...]) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run([*path, "--help"], _session().env) == 0
    text = out.getvalue()
    assert 1 <= len((EVERY[path].help or "").splitlines()[0]) <= 130
    example = text.partition("\nExample:\n")[2].split("\n")[0].strip()
    assert example.replace("source <(", "").startswith(("bl ", "bmcli "))
    codes = text.partition("\nExit codes:\n")[2]
    assert all(f"{code} " in codes for code in (0, 1, 2, 3, 4, 130))


@pytest.mark.parametrize("path", LEAVES, ids=_name)
def test_the_example_in_the_help_is_a_command_of_ours_with_options_it_has(path: tuple[str, ...]) -> None:
    command = LEAVES[path]
    assert isinstance(command, Leaf)
    words = shlex.split(command.example.replace("source <(", "").replace(")", ""))
    assert words[1 : 1 + len(path)] == list(path), "an example is of the command itself"
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    typed = itertools.takewhile(lambda word: word not in {"|", "<", ">"}, words[1 + len(path) :])
    assert {word for word in typed if word.startswith("-") and word != "-"} <= known


def test_flags_hold_what_the_global_options_say() -> None:
    unheld = {"pretty", "verbose", "quiet", "fsync", "api_key_stdin", "limit_rate", "errors"}
    assert {param.name for param in global_options()} - unheld <= set(Flags.__dataclass_fields__)
