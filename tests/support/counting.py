"""A worker process whose one kind of work can be counted from outside: `python -m tests.support.counting DATABASE LOG ID`.

The work writes a row a job, 200 jobs a step, and a line into LOG when it begins a step; `repeated` where that step was finished before.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from obstore.store import MemoryStore
from sqlalchemy import func, insert, select

from benchloop_server.adapters.blobs_object import ObjectBlobs
from benchloop_server.adapters.engine_rows import RowEngine
from benchloop_server.kit.db import Connection, Database
from benchloop_server.kit.services import Services
from benchloop_server.kit.upkeep import Upkeep
from benchloop_server.kit.work import Handler, Run
from benchloop_server.sql.tables import counters
from benchloop_server.worker import Shift, Workplace, end_with_parent, stop_on_signals

KIND = "count"
JOBS, STEP = 2_000, 200
STEP_SECONDS = 0.05
LEASE_SECONDS = 2.0


def row_name(key: str, job: int) -> str:
    """The name of the row that the work writes for a job."""
    return f"{key}/{job:05}"


def rows_of(connection: Connection, key: str, first: int, last: int) -> int:
    """How many jobs from `first` to before `last` have their row."""
    mine = counters.c.name.between(row_name(key, first), row_name(key, last - 1))
    return connection.execute(select(func.count()).select_from(counters).where(mine)).scalar_one()


class Counting:
    """The handler; `log` gets its lines."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("a", buffering=1)

    def run(self, services: Services, run: Run) -> None:
        """Do the work."""
        for first in range(0, JOBS, STEP):
            run.step(f"from-{first}", lambda first=first: self._compute(services, run, first), self._store)
            run.progress(first + STEP, JOBS)

    def _compute(self, services: Services, run: Run, first: int) -> list[str]:
        with services.db.read() as connection:
            done = rows_of(connection, run.item.key, first, first + STEP)
        self._log.write(f"{'repeated' if done else 'begun'} {run.item.key} {first}\n")
        time.sleep(STEP_SECONDS)
        return [row_name(run.item.key, job) for job in range(first, first + STEP)]

    @staticmethod
    def _store(connection: Connection, names: list[str]) -> None:
        # The name is a primary key: a second writing of the same result cannot pass.
        connection.execute(insert(counters), [{"name": name, "value": 1} for name in names])


def main() -> None:
    """Work until SIGTERM."""
    end_with_parent()
    url, log, worker_id = sys.argv[1:]
    upkeep = Upkeep(lease_seconds=LEASE_SECONDS)
    database = Database(url)
    services = Services(db=database, blobs=ObjectBlobs(MemoryStore()), scratch=Path(log).parent, identify=lambda _key: None, upkeep=upkeep)
    engine = RowEngine(services, {KIND: Handler(Counting(Path(log)).run)}, worker_id=worker_id)
    stopping: threading.Event = stop_on_signals()
    Workplace(engine, Shift(slots=1, poll=0.1, beat=0.3), stopping).run()


if __name__ == "__main__":
    main()
