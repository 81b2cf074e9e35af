"""A push or the server killed at any moment: nothing half-visible, and pushing again ends where one clean push ends."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.samples import write_run
from tests.support.programs import Bl, Result, Server, finish, serving
from tests.support.state import Reader, group_state, half_visible

_MOMENTS = 10

pytestmark = pytest.mark.timeout(400)
_GROUP = "KILLED"


@dataclass(frozen=True)
class Clean:
    """A run, a server that outlives the module, and what one clean push of the run led to."""

    server: Server
    run: Path
    state: dict[str, Any]
    seconds: float
    root: Path

    def workspace(self, name: str) -> tuple[Bl, Reader]:
        """A client and a reader in a workspace of their own, where no bytes of the run are known yet."""
        key = self.server.key(name, workspace=name)
        home = self.root / name
        home.mkdir()
        return Bl(home, self.server.origin, key), Reader(self.server.origin, key)

    def push(self, bl: Bl) -> Result:
        """A push that is left alone; it has to end well."""
        result = bl("push", str(self.run), "--group", _GROUP, timeout=90)
        assert result.code == 0, str(result)
        return result


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clean]:
    """A generated run, pushed once without trouble."""
    root = tmp_path_factory.mktemp("kill")
    run = write_run(root / "run")
    # Verdicts come when they come; here only what a push leaves is compared.
    with serving(root / "data", "--no-worker") as server:
        first = Clean(server, run, {}, 0.0, root)
        bl, reader = first.workspace("clean")
        pushed = first.push(bl)
        yield Clean(server, run, group_state(reader, _GROUP), pushed.seconds, root)


def _moments(seed: int, until: float) -> list[float]:
    """Seconds after the start, spread over the whole push with a random place in each part."""
    rng = random.Random(seed)
    return [until * (part + rng.random()) / _MOMENTS for part in range(_MOMENTS)]


def test_push_killed_at_ten_moments(clean: Clean) -> None:
    """SIGKILL of `bl push`: what is visible is whole, and the next push ends in the clean state."""
    for number, moment in enumerate(_moments(1, clean.seconds)):
        bl, reader = clean.workspace(f"push-{number}")
        process = bl.start("push", str(clean.run), "--group", _GROUP)
        time.sleep(moment)
        finish(process)
        assert half_visible(reader, _GROUP) == [], f"after {moment:.2f} s"
        clean.push(bl)
        assert group_state(reader, _GROUP) == clean.state, f"after {moment:.2f} s"


def test_server_killed_at_ten_moments(clean: Clean) -> None:
    """SIGKILL of the server under a push, and a new one over the same data: the same."""
    for number, moment in enumerate(_moments(2, clean.seconds)):
        bl, reader = clean.workspace(f"server-{number}")
        process = bl.start("--retry", "0", "push", str(clean.run), "--group", _GROUP)
        time.sleep(moment)
        port = clean.server.port
        clean.server.kill()
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in out + err
        clean.server.start(port)
        assert half_visible(reader, _GROUP) == [], f"after {moment:.2f} s"
        clean.push(bl)
        assert group_state(reader, _GROUP) == clean.state, f"after {moment:.2f} s"


def test_push_interrupted_is_130_and_resumes(clean: Clean) -> None:
    """Ctrl-C in a push: 130 within a second, nothing half-visible, and the rest goes up with the next push."""
    bl, reader = clean.workspace("interrupted")
    process = bl.start("push", str(clean.run), "--group", _GROUP)
    time.sleep(clean.seconds / 2)
    began = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode in (130, 0), err
    assert time.monotonic() - began < 1.5
    assert half_visible(reader, _GROUP) == []
    clean.push(bl)
    assert group_state(reader, _GROUP) == clean.state


def test_two_pushes_at_once_end_as_one(clean: Clean) -> None:
    """Two pushes of one run at the same time: both end well, in the clean state."""
    bl, reader = clean.workspace("twice")
    both = [bl.start("push", str(clean.run), "--group", _GROUP) for _ in range(2)]
    ended = [process.communicate(timeout=90) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert group_state(reader, _GROUP) == clean.state
