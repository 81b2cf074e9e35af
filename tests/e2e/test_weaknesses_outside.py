"""Faults D5 to D8 and D12 to D14 of the original client: letters, names, certificates, options, and what the package says of itself.

Each test fails on a client that has the fault: run with `BENCHLOOP_TEST_BL=<path to the original 0.2.23>` to see it.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source import ROOT
from tests.support.certificates import self_signed
from tests.support.documented import Documented, document
from tests.support.programs import Bl, files_below
from tests.support.scripted import of_json, scripted

_TEXT = "名前 \U0001f600 é"
#: Run by the interpreter beside the program: what the package that holds it says of itself, as JSON.
_ABOUT = """
import importlib.metadata as m, json, sys
of = next(d for d in m.distributions() if any(e.name == "bl" and e.group == "console_scripts" for e in d.entry_points))
top = sorted({e.value.partition(".")[0] for e in of.entry_points})
text = {str(k): v for k, v in of.metadata.items()}
names = [str(f) for f in of.files or ()]
print(json.dumps({"top": top, "text": text, "requires": of.requires or [], "files": names,
    "rooted": all(getattr(__import__(name), "__file__", None) for name in top)}))
"""


# ---- D5, D6: letters and names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "env", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}], ids=["C", "ascii"]
)
@pytest.mark.parametrize("action", ["get", "download"])
def test_d5_data_is_utf8_whatever_the_locale(old: Documented, bl: Bl, out: Path, env: dict[str, Any], action: str) -> None:
    """Fails on the original: a traceback."""
    old.trajectories["J1"] = of_json(document("J1", _TEXT))
    done = bl("trajectory", action, "-j", "J1", *(("-o", str(out)) if action == "download" else ()), **env)
    assert done.code == 0, str(done)
    text = done.out or files_below(out)["J1_trajectory.json"].decode()
    assert _TEXT in text


def test_d6_long_names_fit_everywhere(old: Documented, bl: Bl, out: Path) -> None:
    """Forty letters of three bytes, in a ZIP, where each byte takes three signs. Fails on the original: the job is lost."""
    names = ["名" * 40, "名" * 39 + "字"]
    old.fill("LONG", names)
    done = bl("trajectory", "download", "--task-id", "LONG", "-o", str(out))
    assert done.code == 0, str(done)
    with zipfile.ZipFile(out / "LONG_trajectories.zip") as archive:
        found = [name for name in archive.namelist() if name.startswith("trajectories/")]
    assert len({name.casefold() for name in found}) == 2
    assert max(len(name.rpartition("/")[2].encode()) for name in found) <= 255


@pytest.mark.parametrize("name", ["CON", "nul.tgz", "a:b", "x.", 'q"?*<>|'])
def test_d6_names_are_possible_on_every_system(old: Documented, bl: Bl, out: Path, name: str) -> None:
    """Fails on the original: the name as it stands."""
    old.fill("G9", [name])
    done = bl("metrics", "download", "-j", name, "-o", str(out))
    assert done.code == 0, str(done)
    old.server.on(
        "GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": [{"name": name, "url": f"/openapi/jobs/{name}/artifacts/download"}]})
    )
    assert bl("artifacts", "download", "-j", "J1", "-o", str(out)).code == 0
    for part in {part for path in files_below(out) for part in path.split("/")}:
        assert not re.search(r'[:"?*<>|]|\.$', part)
        assert not re.match(r"(?i)(con|nul)(\.|$)", part)


# ---- D7, D8: options ----------------------------------------------------------------------------------------------------------------


def test_d7_an_own_authority_can_be_named(home: Path) -> None:
    """And without it there is no answer in clear text. Fails on the original: no such option."""
    with scripted("both") as server:
        server.fallback = lambda _seen: of_json({"job_id": "J1"})
        bl = Bl(home, server.origin)
        refused = bl("--retry", "0", "metrics", "get", "-j", "J1")
        assert (refused.code, server.seen) == (4, []), str(refused)
        done = bl("--cacert", str(self_signed().certificate), "metrics", "get", "-j", "J1")
        assert (done.code, len(done.json)) == (0, 1), str(done)
        assert all(seen.secure for seen in server.seen)


@pytest.mark.parametrize(
    "command",
    [("metrics", "get", "-j", "J1", "--concurrency", "3"), ("-h",), ("metrics", "-h"), ("metrics", "get", "-h"), ("completion", "bash")],
)
def test_d8_options_stand_where_they_are_typed(old: Documented, bl: Bl, command: tuple[str, ...]) -> None:
    """Fails on the original: usage errors."""
    done = bl(*command)
    assert done.code == 0, str(done)
    assert done.out


# ---- D12: who asks ------------------------------------------------------------------------------------------------------------------


def test_d12_the_client_says_which_one_it_is(old: Documented, bl: Bl, out: Path) -> None:
    """On data and on bytes. Fails on the original, whose name is that of its HTTP library."""
    version = bl("--version").out.split()[-1]
    assert bl("artifacts", "download", "-j", "J1", "-o", str(out)).code == 0
    assert {seen.headers["user-agent"] for seen in old.server.seen} == {f"benchloop-client/{version}"}


# ---- D13, D14: the package, and what is told of it ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def about() -> Mapping[str, Any]:
    """What the installed package says of itself."""
    program = Path(Bl(Path()).program)
    done = subprocess.run([str(program.parent / "python"), "-I", "-c", _ABOUT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def test_d13_the_package_has_a_licence_and_a_root_of_its_own(about: Mapping[str, Any]) -> None:
    """Fails on the original: no licence, and a namespace that a folder anywhere can add to."""
    assert about["text"].get("License-Expression")
    assert any(name.endswith("LICENSE") for name in about["files"])
    assert about["rooted"]


def test_d13_requirements_have_both_ends_and_are_for_the_interpreters_that_need_them(about: Mapping[str, Any]) -> None:
    """Fails on the original: `typer>=0.9.4`, and tomli where the library is built in."""
    needed = [line for line in about["requires"] if "extra ==" not in line]
    # A backport goes away with the interpreters that need it: its upper end is theirs.
    open_ended = [line for line in needed if "<" not in line.partition(";")[0] and "python_version" not in line]
    assert open_ended == []
    assert all("3.11" in line for line in needed if line.startswith("tomli>"))


def test_d14_the_reference_knows_every_command(bl: Bl) -> None:
    """Every command that the program lists has its chapter. Fails where `report trigger` is left out, as with the original's documents."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    told = set(re.findall(r"^#+ `?bl ([a-z -]+?)`?$", page, re.MULTILINE))
    listed = _listed(bl)
    assert len(listed) > 10
    assert listed - told == set()


def _listed(bl: Bl) -> set[str]:
    found = set()
    for resource in _names(bl("--help").out):
        inner = _names(bl(resource, "--help").out)
        found |= {f"{resource} {name}" for name in inner} or {resource}
    return found


def _names(text: str) -> list[str]:
    return (
        re.findall(r"^(?:  |│ )([a-z][a-z-]+)  +\S", re.split(r"Commands:|─ Commands ─", text, maxsplit=1)[1], re.MULTILINE)
        if "Commands" in text
        else []
    )
