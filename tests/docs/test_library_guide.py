"""The examples of the library's guide run as they stand, one after another, against a real server."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchloop_client import Client
from benchloop_client.samples.generator import write_samples
from tests.architecture.source import ROOT
from tests.support.served import Served, serving

GUIDE = (ROOT / "docs" / "guides" / "library.md").read_text("utf-8")
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `.*\| (.*) \|$", re.MULTILINE)
_NAME = re.compile(r"`(\w+)`")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that holds both samples as steps of the group in the guide."""
    folder = tmp_path_factory.mktemp("guide")
    write_samples(folder / "runs")
    with serving(folder / "data") as running, Client(running.url, running.key()) as client:
        for step in (100, 200):
            client.push(folder / "runs" / f"step-{step}", group="rl-run-7", step=step)
        yield running


@pytest.fixture
def at_home(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, and host and key where `Client()` finds them."""
    monkeypatch.setenv("BENCHLOOP_HOST", served.url)
    monkeypatch.setenv("BENCHLOOP_API_KEY", served.key())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_examples_run(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for number, block in enumerate(_BLOCK.findall(GUIDE), 1):
        exec(compile(block, f"library.md block {number}", "exec"), names)
    said = capsys.readouterr().out
    assert "44 jobs; failed at step 200: [" in said
    assert "'won': 4" in said
    assert "API error 404" in said
    assert len(names["calls"]) == 44
    assert names["log"]
    assert len(list((at_home / "failures" / "rl-run-7").iterdir())) == 3
    assert (at_home / "data" / "rl-run-7" / "trajectory.json").is_file()


def test_the_table_names_every_call_and_no_other() -> None:
    listed: set[str] = set()
    for row in _ROW.findall(GUIDE):
        listed |= set(_NAME.findall(row))
    calls = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
    assert listed == calls - {"close", "select", "server_version"}


def test_every_call_says_what_it_does() -> None:
    silent = [
        name for name, call in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_") and not inspect.getdoc(call)
    ]
    assert silent == []
