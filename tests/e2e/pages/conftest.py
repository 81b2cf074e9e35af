"""One browser for all of this room, and a server with data for each module that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import missing
from tests.support.browsing import find_chromium, launched
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
