"""What each test from outside starts with: a scripted server, a documented one on top of it, and a client with a home of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.documented import Documented
from tests.support.programs import Bl
from tests.support.scripted import Scripted, scripted


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A scripted server with nothing on it: every request is a 404 of the documented shape."""
    with scripted() as running:
        yield running


@pytest.fixture
def old(server: Scripted) -> Documented:
    """A server of the documented protocol with group G1 of three jobs."""
    documented = Documented(server)
    documented.fill("G1", ["J1", "J2", "J3"])
    return documented


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def bl(server: Scripted, home: Path) -> Bl:
    """The client, its host the scripted server, its key a canary."""
    return Bl(home, server.origin)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty output folder."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder
