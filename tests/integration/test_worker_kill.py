"""Workers that are killed at random moments, as real processes over each database: every step is finished once, and all work ends."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from benchloop_server.kit.clock import system_clock
from benchloop_server.kit.db import Database
from benchloop_server.kit.services import Services
from benchloop_server.sql import work
from benchloop_server.sql.tables import work as table
from benchloop_server.sql.tables import workers
from benchloop_server.sql.work import Wish
from tests.conftest import ROOT
from tests.support.counting import JOBS, KIND, LEASE_SECONDS, STEP, rows_of

KEYS = ("first", "second")
_WORKERS = {"sqlite": 1, "postgresql": 3}
_KILLS = 5

pytestmark = pytest.mark.timeout(300)


class Crew:
    """Worker processes over one database; all of them end with the test."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._url = database.engine.url.render_as_string(hide_password=False)
        self._log = folder / "steps.log"
        self._log.touch()
        self._started = 0
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """One more."""
        self._started += 1
        command = [sys.executable, "-m", "tests.support.counting", self._url, str(self._log), f"w{self._started}"]
        self.running.append(
            subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        )

    def kill(self, process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGKILL) -> None:
        """End one."""
        self.running.remove(process)
        process.send_signal(signal.SIGCONT)
        process.send_signal(how)
        process.wait(20)
        if process.stdin is not None:
            process.stdin.close()

    def lines(self) -> list[str]:
        """What the workers wrote when they began steps."""
        return self._log.read_text().splitlines()

    def end(self) -> None:
        """Kill what is left."""
        for process in list(self.running):
            self.kill(process)


@pytest.fixture
def crew(services: Services, tmp_path: Path) -> Iterator[Crew]:
    """No workers yet, and two pieces of 2,000 jobs to do."""
    with services.db.write() as connection:
        for key in KEYS:
            work.enqueue(connection, Wish(workspace_id="default", kind=KIND, key=key), now=system_clock())
    crew = Crew(services.db, tmp_path)
    try:
        yield crew
    finally:
        crew.end()


def _states(services: Services) -> list[str]:
    with services.db.read() as connection:
        return [each.state for each in work.standing(connection, "default", KIND, keys=KEYS).values()]


def _wait(services: Services, crew: Crew, *, lines: int, seconds: float = 60) -> None:
    """Until the workers have begun so many steps or everything is done."""
    until = time.monotonic() + seconds
    while len(crew.lines()) < lines and _states(services) != ["done", "done"]:
        assert time.monotonic() < until, f"{crew.lines()[-3:]} {_states(services)}"
        time.sleep(0.02)


def _check(services: Services, crew: Crew) -> None:
    """Every job has its result, and no step that was finished was begun again."""
    with services.db.read() as connection:
        assert [rows_of(connection, key, 0, JOBS) for key in KEYS] == [JOBS, JOBS]
    assert [line for line in crew.lines() if line.startswith("repeated")] == []


def _killed_again_and_again(services: Services, crew: Crew, seed: int) -> None:
    rng = random.Random(seed)
    count = _WORKERS[services.db.engine.dialect.name]
    for _ in range(count):
        crew.start()
    for _ in range(_KILLS):
        _wait(services, crew, lines=len(crew.lines()) + rng.randrange(1, 4))
        time.sleep(rng.uniform(0, 0.15))
        crew.kill(rng.choice(crew.running))
        crew.start()
    _wait(services, crew, lines=10_000, seconds=120)
    _check(services, crew)
    # A step that was cut off is begun again; more beginnings than cuts would be work done twice.
    assert len(crew.lines()) <= len(KEYS) * JOBS // STEP + _KILLS


def test_workers_killed_at_random_moments(services: Services, crew: Crew) -> None:
    _killed_again_and_again(services, crew, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 27))
def test_workers_killed_at_random_moments_again_and_again(services: Services, crew: Crew, seed: int) -> None:
    _killed_again_and_again(services, crew, seed)


def _put_to_sleep(services: Services, sleeper: subprocess.Popen[bytes]) -> None:
    """Stop the process outside of its transactions: one that sleeps inside would hold the others up, as any client of a database can."""
    for _ in range(100):
        sleeper.send_signal(signal.SIGSTOP)
        if _is_free(services):
            return
        sleeper.send_signal(signal.SIGCONT)
        time.sleep(0.03)
    raise AssertionError("the worker was never outside of a transaction")


def _is_free(services: Services) -> bool:
    if services.db.is_sqlite:
        connection = sqlite3.connect(str(services.db.engine.url.database), timeout=0.1, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        finally:
            connection.close()
        return True
    try:
        with services.db.write() as database:
            database.execute(select(table.c.work_id).with_for_update(nowait=True)).all()
            database.execute(select(workers.c.worker_id).with_for_update(nowait=True)).all()
    except OperationalError:
        return False
    return True


def test_a_worker_that_sleeps_past_its_lease_changes_nothing(services: Services, crew: Crew) -> None:
    """SIGSTOP longer than the lease: another takes over, and what the sleeper then wants to write is refused."""
    crew.start()
    _wait(services, crew, lines=3)
    sleeper = crew.running[0]
    _put_to_sleep(services, sleeper)
    time.sleep(LEASE_SECONDS + 0.5)
    crew.start()
    _wait(services, crew, lines=len(crew.lines()) + 2)
    sleeper.send_signal(signal.SIGCONT)
    _wait(services, crew, lines=10_000)
    _check(services, crew)


def test_a_worker_that_is_told_to_stop_ends_in_time_and_frees_its_work(services: Services, crew: Crew) -> None:
    crew.start()
    _wait(services, crew, lines=3)
    first = crew.running[0]
    began = time.monotonic()
    crew.kill(first, signal.SIGTERM)
    assert time.monotonic() - began < 10
    assert first.returncode == 0
    assert set(_states(services)) == {"pending"}
    crew.start()
    _wait(services, crew, lines=10_000)
    _check(services, crew)
