"""Workers killed with SIGKILL in the middle of a behaviour task: it ends, no finished step is begun again, and no result is another."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select

from benchloop_server.sql.tables import job_features
from tests.conftest import ROOT
from tests.joined.test_behaviour_studies import ask, read, two_kinds
from tests.support.analysing import work_off
from tests.support.pushing import push
from tests.support.served import Served, serving

_KILLS = 6
#: Jobs that are kept in one transaction: a kill costs no more.
_BATCH = 200

pytestmark = pytest.mark.timeout(300)


class Crew:
    """One worker process at a time, which is killed and followed by another."""

    def __init__(self, served: Served) -> None:
        self._log = served.data / "told.log"
        self._log.touch()
        url = served.services.db.engine.url.render_as_string(hide_password=False)
        self._command = [sys.executable, "-m", "tests.support.studying", url, str(served.data / "blobs"), str(self._log)]
        self._process: subprocess.Popen[bytes] | None = None
        self.started = 0

    def start(self) -> None:
        """The next one."""
        self.started += 1
        command = [*self._command, f"w{self.started}"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(20)
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process = None

    def lines(self) -> list[str]:
        """What was told."""
        return self._log.read_text().splitlines()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    """240 jobs that were judged, and of which nobody knows any more what they did."""
    with serving(tmp_path / "data") as served:
        jobs = two_kinds(tasks=60)
        for at in range(0, len(jobs), 60):
            push(served, *jobs[at : at + 60])
        work_off(served.services)
        yield served


def _forget(served: Served) -> None:
    with served.services.db.write() as connection:
        connection.execute(delete(job_features))


def _wait(served: Served, crew: Crew, uid: str, lines: int, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while len(crew.lines()) < lines and read(served, uid)["status"] != "succeeded":
        assert time.monotonic() < until, crew.lines()[-3:]
        time.sleep(0.02)


def test_a_task_whose_workers_are_killed_ends_as_if_nothing_had_been(server: Served) -> None:
    undisturbed = ask(server, scoringLimit=9)
    work_off(server.services)
    _forget(server)
    rng = random.Random(1)
    uid = ask(server, scoringLimit=10)
    crew = Crew(server)
    try:
        crew.start()
        for _ in range(_KILLS):
            _wait(server, crew, uid, len(crew.lines()) + rng.choice((1, 2, 70, 150)))
            time.sleep(rng.uniform(0, 0.3))
            crew.kill()
            crew.start()
        _wait(server, crew, uid, 1_000_000, seconds=120)
    finally:
        crew.kill()
    told = Counter(crew.lines())
    assert [line for line in told if line.startswith("repeated")] == []
    assert {line for line in told if line.startswith("begun")} == {"begun sample", "begun study", "begun examples"}
    with server.services.db.read() as connection:
        assert connection.execute(select(func.count()).select_from(job_features)).scalar_one() == 240
    assert sum(count for line, count in told.items() if line.startswith("seen")) <= 240 + _KILLS * _BATCH
    one, other = (json.loads(json.dumps(read(server, each, "/analysis"))) for each in (undisturbed, uid))
    for name in ("categoryScores", "model", "steps", "patternsTotal"):
        assert one[name] == other[name], name
    assert one["behaviorPatterns"] == other["behaviorPatterns"][:9]
