"""A worker for the application under test: does the background work that is due, in the test's own thread."""

from __future__ import annotations

import dataclasses
import os
import time

from benchloop_server.adapters.engine_rows import RowEngine
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.clock import system_clock
from benchloop_server.kit.hands import Hands
from benchloop_server.kit.services import Services
from benchloop_server.worker import Handlers

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
