"""A worker for what is under test: does the background work that is due, in the test's own thread.

`python -m tests.support.analysing DATABASE SCRATCH ID` is one in a process of its own, for jobs without contents.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path

from obstore.store import MemoryStore

from benchloop_server.adapters.blobs_object import ObjectBlobs
from benchloop_server.adapters.engine_rows import RowEngine
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.clock import system_clock
from benchloop_server.kit.db import Database
from benchloop_server.kit.hands import Hands
from benchloop_server.kit.services import Services
from benchloop_server.kit.upkeep import Upkeep
from benchloop_server.worker import Handlers, Shift, Workplace, stop_on_signals

#: A push is followed by a pause before its jobs are analysed; for this worker it is over.
_LATER = 5_000_000


def work_off(services: Services, *, hands: Hands | None = None, name: str = "w1") -> int:
    """Do all work that is due; returns how many pieces there were. By default everything is computed here."""
    given = dataclasses.replace(services, clock=lambda: system_clock() + _LATER, **({} if hands is None else {"hands": hands}))
    engine = RowEngine(given, Handlers(), worker_id=name)
    engine.attend()
    done = 0
    while engine.work_once():
        done += 1
    engine.leave()
    return done


def dies_of_x(_blobs: BlobStore, task: bytes) -> bytes:
    """Capital letters; `x` ends the process."""
    if task == b"x":
        os._exit(9)
    return task.upper()


def sleeps(_blobs: BlobStore, task: bytes) -> bytes:
    """Takes so many seconds."""
    time.sleep(float(task))
    return task


def main() -> None:
    """Work until SIGTERM. A worker that has been silent for two seconds is dead."""
    url, scratch, worker_id = sys.argv[1:]
    services = Services(
        db=Database(url),
        blobs=ObjectBlobs(MemoryStore()),
        scratch=Path(scratch),
        identify=lambda _key: None,
        upkeep=Upkeep(lease_seconds=2.0),
    )
    Workplace(RowEngine(services, Handlers(), worker_id=worker_id), Shift(slots=1, poll=0.1, beat=0.3), stop_on_signals()).run()


if __name__ == "__main__":
    main()
