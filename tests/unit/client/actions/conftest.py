"""A client of a scripted old server, and a destination, for actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchloop_client.actions import events
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.work import Work
from benchloop_client.client import Client
from benchloop_client.settings import Flags, load
from tests.support.documented import Documented
from tests.support.scripted import Scripted, scripted


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A scripted server."""
    with scripted() as running:
        yield running


@pytest.fixture
def old(server: Scripted) -> Documented:
    """The documented protocol with two groups."""
    documented = Documented(server)
    documented.fill("G1", ["J1", "J2", "J3"])
    documented.fill("G2", ["K1"])
    return documented


@pytest.fixture
def seen() -> list[events.Event]:
    """What the actions told."""
    return []


@pytest.fixture
def work(server: Scripted, seen: list[events.Event]) -> Iterator[Work]:
    """What actions are given."""
    settings = load(Flags(host=server.origin, api_key="sk-test-key", timeout=5.0, retry=0), {"HOME": "/nonexistent"})
    with Client(settings) as client:
        yield Work(client, seen.append)


@pytest.fixture
def destination(tmp_path: Path) -> Callable[..., Destination]:
    """A destination in a folder of the test's own."""

    def make(name: str = "out", *, run: str = "run", skip_existing: bool = False) -> Destination:
        return Destination(tmp_path / name, layout=Layout(), run=run, skip_existing=skip_existing)

    return make
