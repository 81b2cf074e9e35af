"""A worker process for behaviour tasks that tells what it does: `python -m tests.support.studying DATABASE BLOBS LOG ID`.

A line in LOG for each step that is begun (`begun NAME`; `repeated NAME` where it was finished before) and for each job that is observed
(`seen JOB`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import select

from benchloop_server.adapters.blobs_local import LocalBlobs
from benchloop_server.adapters.engine_rows import RowEngine
from benchloop_server.features.analysis.asked import Task
from benchloop_server.features.behaviour import tasks
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.db import Database
from benchloop_server.kit.hands import OwnHands, Program
from benchloop_server.kit.services import Services
from benchloop_server.kit.upkeep import Upkeep
from benchloop_server.kit.work import Handler, Item, Run
from benchloop_server.sql.tables import work_steps
from benchloop_server.worker import Shift, Workplace, end_with_parent, stop_on_signals

LEASE_SECONDS = 2.0
#: Observing is so slow that a kill falls into it now and then.
_TASK_SECONDS = 0.05


class Telling:
    """A run that writes down which steps are begun."""

    def __init__(self, run: Run, services: Services, log: Any) -> None:
        self._run, self._services, self._log = run, services, log

    @property
    def item(self) -> Item:
        """See `Run`."""
        return self._run.item

    def step(self, name: str, compute: Callable[[], Any], store: Callable[..., Any] | None = None) -> Any:
        """See `Run`."""

        def told() -> Any:
            with self._services.db.read() as connection:
                mine = (work_steps.c.work_id == self.item.work_id, work_steps.c.name == name)
                finished = connection.execute(select(work_steps.c.name).where(*mine)).first() is not None
            self._log.write(f"{'repeated' if finished else 'begun'} {name}\n")
            return compute()

        return self._run.step(name, told, store)

    def commit(self, store: Callable[..., Any]) -> Any:
        """See `Run`."""
        return self._run.commit(store)

    def progress(self, done: int, total: int) -> None:
        """See `Run`."""
        self._run.progress(done, total)

    def check(self) -> None:
        """See `Run`."""
        self._run.check()


class TellingHands:
    """Computes here, slowly, and writes down which jobs are observed."""

    def __init__(self, log: Any) -> None:
        self._log, self._own = log, OwnHands()

    def each(self, program: Program, given: Iterable[bytes], *, blobs: BlobStore, waiting: Callable[[], None]) -> Iterator[bytes | None]:
        """See `Hands`."""
        return self._own.each(program, self._told(given), blobs=blobs, waiting=waiting)

    def _told(self, given: Iterable[bytes]) -> Iterator[bytes]:
        for task in given:
            time.sleep(_TASK_SECONDS)
            self._log.writelines(f"seen {asked.job_id}\n" for asked in msgspec.msgpack.decode(task, type=Task).jobs)
            yield task


def main() -> None:
    """Work until SIGTERM."""
    end_with_parent()
    url, blobs, path, worker_id = sys.argv[1:]
    with Path(path).open("a", buffering=1) as log:
        services = Services(
            db=Database(url),
            blobs=LocalBlobs(Path(blobs)),
            scratch=Path(path).parent,
            identify=lambda _key: None,
            upkeep=Upkeep(lease_seconds=LEASE_SECONDS),
            hands=TellingHands(log),
        )
        handler = Handler(lambda given, run: tasks.work_off(given, Telling(run, given, log)), gave_up=tasks.gave_up)
        engine = RowEngine(services, {"study": handler}, worker_id=worker_id)
        Workplace(engine, Shift(slots=1, poll=0.1, beat=0.3), stop_on_signals()).run()


if __name__ == "__main__":
    main()
