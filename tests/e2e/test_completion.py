"""The completion scripts, run by the shells they are for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.support.programs import Bl

#: What is typed, the last word being completed → words that must be offered, and words that must not.
CASES = [
    (["bl", ""], {"push", "pull", "config", "doctor"}, {"--host", "get"}),
    (["bl", "gr"], {"groups"}, {"jobs"}),
    (["bl", "groups", ""], {"list", "get", "delete", "rename", "tag", "note"}, {"groups", "--group"}),
    (["bl", "--host", "http://x", "groups", "ta"], {"tag"}, set()),
    (["bl", "groups", "--host", "groups", "li"], {"list"}, set()),
    (["bl", "groups", "tag", "--re"], {"--remove", "--retry"}, {"--reset"}),
    (["bl", "--ver"], {"--version", "--verbose"}, set()),
    (["bl", "push", "--format", ""], {"auto", "harbor", "atif", "tau"}, {"run.toml"}),
    (["bl", "config", "get", "ho"], {"host"}, {"run.toml"}),
    (["bl", "completion", ""], {"bash", "zsh", "fish"}, {"run.toml"}),
    (["bl", "--config", "run"], {"run.toml"}, set()),
    (["bl", "config", "set", "--cacert", "run"], {"run.toml"}, set()),
    (["bl", "jobs", "get", "-g", ""], set(), {"run.toml", "get"}),
    (["bl", "diff", "A", "B", "--fail-on-regression", "--see"], {"--seed"}, set()),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three scripts and a file and a folder to complete."""
    folder = tmp_path_factory.mktemp("completion")
    bl = Bl(folder)
    for shell in ("bash", "zsh", "fish"):
        done = bl("completion", shell)
        assert done.code == 0 and done.err == ""
        (folder / f"bl.{shell}").write_text(done.out)
    (folder / "run.toml").write_text("")
    (folder / "data dir").mkdir()
    return folder


def _ran(shell: str, script: str, folder: Path, *words: str) -> str:
    program = shutil.which(shell)
    if program is None:
        missing(f"{shell} is not installed")
    assert program is not None
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    env = {"PATH": os.defpath, "HOME": str(folder), "LANG": "C.UTF-8"}
    command = [program, *options, "-c", script, *([shell] if shell != "fish" else []), *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


BASH = """
source ./bl.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_bl_complete
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
"""
#: zsh's own functions only work inside its line editor: these stand in for them, and show what they were given.
ZSH = """
_describe() {
    local name=$argv[-1] entry
    for entry in ${(P)name}; do [[ ${entry%%:*} == $PREFIX* ]] && print -r -- ${entry%%:*}; done
    return 0
}
_files() { local file; for file in *(N); do [[ $file == $PREFIX* ]] && print -r -- $file; done; return 0 }
compadd() { local word; shift; for word in $@; do [[ $word == $PREFIX* ]] && print -r -- $word; done; return 0 }
compset() { PREFIX=${PREFIX#*=} }
compdef() { : }
source ./bl.zsh
words=("$@"); CURRENT=$#words; PREFIX=$words[-1]
_bl
"""
FISH = "source ./bl.fish; complete -C (string join ' ' -- $argv) | string replace -r '\\t.*' ''; true"


def _offered(shell: str, folder: Path, typed: list[str]) -> set[str]:
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    return set(_ran(shell, script, folder, *typed).splitlines())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(("typed", "wanted", "unwanted"), CASES, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_words_are_completed(scripts: Path, shell: str, typed: list[str], wanted: set[str], unwanted: set[str]) -> None:
    offered = _offered(shell, scripts, typed)
    assert wanted <= offered, offered
    assert not unwanted & offered, offered
    if shell == "bash":
        assert all(word.startswith(typed[-1]) for word in offered)


@pytest.mark.parametrize("typed", [["--format", "=", "t"], ["--format", "=", "ta"]])
def test_bash_completes_behind_an_equals_sign(scripts: Path, typed: list[str]) -> None:
    assert _offered("bash", scripts, ["bl", "push", *typed]) == {"tau"}
    assert "auto" in _offered("bash", scripts, ["bl", "push", "--format", "="])


def test_bash_keeps_names_with_spaces_whole(scripts: Path) -> None:
    assert _offered("bash", scripts, ["bl", "pull", "-o", "data"]) == {"data dir"}


def test_bash_completes_both_names_of_the_program(scripts: Path) -> None:
    assert _ran("bash", "source ./bl.bash; complete -p bl bmcli", scripts).count("_bl_complete") == 2


def test_zsh_completes_behind_an_equals_sign(scripts: Path) -> None:
    assert _offered("zsh", scripts, ["bl", "push", "--format=t"]) == {"tau"}


def test_the_scripts_start_no_program_of_ours(scripts: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        lines = [line for line in (scripts / f"bl.{shell}").read_text().splitlines() if not line.lstrip().startswith("#")]
        assert not any("$(bl " in line or "(bl " in line or "python" in line for line in lines)


def test_an_unknown_shell_is_two(home: Path) -> None:
    assert Bl(home)("completion", "tcsh").code == 2
