"""The real application on a loopback port for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.served import Served, serving


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server of the test's own, on SQLite and a folder."""
    with serving(tmp_path / "data") as running:
        yield running
