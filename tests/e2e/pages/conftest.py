"""One browser for all of this room, and servers with data: one for each module that writes, one for all that only look."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import missing
from tests.support.analysing import work_off
from tests.support.browsing import find_chromium, launched
from tests.support.programs import Bl
from tests.support.served import Served, serving


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium."""
    path = find_chromium()
    if path is None:
        missing("no Chromium on this machine")
        return
    with sync_playwright() as playwright, launched(playwright, path) as browser:
        yield browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for a module's tests."""
    data: Path = tmp_path_factory.mktemp("pages") / "data"
    with serving(data) as running:
        yield running


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with what `make demo` pushes: group `demo-run` with two training steps, analysed."""
    folder = tmp_path_factory.mktemp("sampled")
    subprocess.run([sys.executable, "-m", "benchloop_client.samples", str(folder / "runs")], check=True, timeout=60)
    with serving(folder / "data", workers=0) as running:
        for run in sorted((folder / "runs").iterdir()):
            push(running, folder, str(run), "--group", "demo-run", "--step", run.name.removeprefix("step-"))
        work_off(running.services)
        yield running


def push(running: Served, home: Path, *arguments: str) -> None:
    """`bl push` as a user does it."""
    done = Bl(home, running.url, running.key())("push", *arguments, timeout=120)
    assert done.code == 0, done
