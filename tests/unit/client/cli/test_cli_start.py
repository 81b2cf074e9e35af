"""What starting costs: the version before anything is imported, help without the network and its libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchloop_client.cli.app import ROOT, SUMMARIES
from benchloop_client.contract.version import __version__

_HEAVY = {"urllib3", "ssl", "asyncio", "rich", "msgspec", "tomlkit"}
_PROGRAM = (
    "import sys; from benchloop_client.cli.main import run; code = run(sys.argv[1:]); print(code, *sorted(sys.modules), file=sys.stderr)"
)


def _modules(*argv: str) -> tuple[str, str, set[str]]:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM, *argv], capture_output=True, text=True, timeout=60, check=True)
    code, *names = ran.stderr.split("\n")[-2].split()
    return code, ran.stdout, {name.partition(".")[0] for name in names}


def test_version_is_answered_without_importing_anything() -> None:
    code, out, modules = _modules("--version")
    assert (code, out) == ("0", f"bmcli {__version__}\n")
    assert not modules & (_HEAVY | {"click"})


@pytest.mark.parametrize(
    "argv", [["--help"], ["-h"], [], *([*name.split(), "-h"] for name in SUMMARIES), ["jobs", "get", "--help"], ["pull", "-g"]]
)
def test_help_loads_neither_network_nor_json(argv: list[str]) -> None:
    _, _, modules = _modules(*argv)
    assert not modules & _HEAVY


def test_version_is_also_an_option_among_others() -> None:
    assert _modules("-q", "--version")[:2] == ("0", f"bmcli {__version__}\n")


@pytest.mark.parametrize("argv", [[], ["jobs"]])
def test_no_command_shows_help_and_is_wrong_usage(argv: list[str]) -> None:
    code, out, _ = _modules(*argv)
    assert code == "2"
    assert out.startswith("Usage: bl")


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary_in_the_list_is_the_first_line_of_the_commands_help(name: str) -> None:
    with ROOT.make_context("bl", [name, "-h"], resilient_parsing=True) as ctx:
        command = ROOT.get_command(ctx, name)
    assert command is not None
    assert (command.help or "").splitlines()[0].rstrip(".") == SUMMARIES[name].rstrip(".")
