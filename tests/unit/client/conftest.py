"""A client for a scripted server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchloop_client.client import Client
from benchloop_client.settings import Flags, load

KEY = "blk_CanaryKeyThatMustNotLeak1234567890"


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    """Make a client for an address; all are closed at the end."""
    made: list[Client] = []

    def make(address: str, *, cancel: threading.Event | None = None, environ: dict[str, str] | None = None, **flags: Any) -> Client:
        flags = {"api_key": KEY, "timeout": 5.0, "retry": 2, **flags}
        client = Client(load(Flags(host=address, **flags), environ or {"HOME": "/nonexistent"}), cancel)
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()
