"""The engine of background work, over our own database: rows claimed by token, steps marked where their results are written."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec
import structlog

from benchloop_client.contract.version import __version__
from benchloop_server.kit.db import Connection, DatabaseError
from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Ended, Handler, Item, WorkFailed
from benchloop_server.sql import claims
from benchloop_server.sql.claims import Claim, Worker

_log = structlog.get_logger("benchloop_server.work")
_MICROS = 1_000_000
_DAY = 86_400 * _MICROS
_CHECK_SECONDS = 0.5
_PROGRESS_SECONDS = 1.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds and counts: a failed run waits `retry`, twice as long each time, `retry_cap` at most; after `attempts` runs without a
    finished step the work has failed; work that has ended is forgotten after `keep_days`.
    """

    retry: float = 2.0
    retry_cap: float = 600.0
    attempts: int = 5
    keep_days: int = 7


class RowEngine:
    """An `Engine` of the worker `worker_id` over `services.db`. `handlers` say what kinds it does."""

    def __init__(self, services: Services, handlers: Mapping[str, Handler], *, worker_id: str, pace: Pace | None = None) -> None:
        self._services, self._handlers, self._pace = services, handlers, pace or Pace()
        self._kinds = sorted(handlers)
        now = services.clock()
        self._worker = Worker(
            worker_id=worker_id, host=socket.gethostname(), pid=os.getpid(), version=__version__, started_at=now, seen_at=now
        )
        self._stopping = threading.Event()

    def attend(self) -> None:
        """See `Engine`."""
        now = self._services.clock()
        with self._services.db.read() as connection:
            orphans = claims.has_orphans(connection, silent_since=self._silent(now))
        with self._services.db.write() as connection:
            claims.beat(connection, replace(self._worker, seen_at=now))
            freed = claims.free_orphans(connection, now=now, silent_since=self._silent(now)) if orphans else 0
        if freed:
            _log.warning("work_taken_over", pieces=freed)

    def prune(self) -> None:
        """See `Engine`."""
        now = self._services.clock()
        with self._services.db.write() as connection:
            claims.prune(connection, ended_before=now - self._pace.keep_days * _DAY, silent_since=now - _DAY)

    def has_work(self) -> bool:
        """See `Engine`."""
        now = self._services.clock()
        with self._services.db.read() as connection:
            return claims.due(connection, self._kinds, now=now, silent_since=self._silent(now))

    def work_once(self) -> bool:
        """See `Engine`."""
        if self._stopping.is_set() or not self.has_work():
            return False
        with self._services.db.write() as connection:
            claimed = claims.claim(connection, self._worker.worker_id, self._kinds, now=self._services.clock())
        if claimed is None:
            return False
        self._do(claimed)
        return True

    def stop(self) -> None:
        """See `Engine`."""
        self._stopping.set()

    def leave(self) -> None:
        """See `Engine`."""
        self.stop()
        with self._services.db.write() as connection:
            claims.forget(connection, self._worker.worker_id, now=self._services.clock())

    def _silent(self, now: int) -> int:
        return now - int(self._services.upkeep.lease_seconds * _MICROS)

    def _do(self, claimed: Claim) -> None:
        began = time.monotonic()
        try:
            outcome = self._outcome(claimed)
        except DatabaseError as error:  # the verdict could not be written: the lease or the next worker brings the work back
            outcome = f"unrecorded ({type(error).__name__})"
            with suppress(DatabaseError), self._services.db.write() as connection:
                claims.give_back(connection, claimed, due_at=self._retry_at(claimed), error=_sentence(error), attempts=claimed.attempts)
        seconds = round(time.monotonic() - began, 2)
        _log.info("work_ended", kind=claimed.item.kind, key=claimed.item.key, outcome=outcome, seconds=seconds, attempt=claimed.attempts)

    def _outcome(self, claimed: Claim) -> str:
        """Run the handler and record how that ended; one word about it."""
        if claimed.cancel:
            return self._end(claimed, "cancelled")
        if claimed.attempts > self._pace.attempts:
            return self._fail(claimed, f"the worker ended unexpectedly in the middle of it {claimed.attempts - 1} times")
        run = RowRun(self._services, claimed, stopping=self._stopping)
        try:
            self._handlers[claimed.item.kind].run(self._services, run)
        except Ended:
            return self._ended_early(claimed)
        except WorkFailed as error:
            return self._fail(claimed, _sentence(error))
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is that work's failure, not the worker's
            _log.warning("work_attempt_failed", kind=claimed.item.kind, key=claimed.item.key, attempt=claimed.attempts, exc_info=True)
            return self._try_later(replace(claimed, attempts=run.attempts), error)
        return self._end(claimed, "done")

    def _end(self, claimed: Claim, state: str) -> str:
        with self._services.db.write() as connection:
            return state if claims.end(connection, claimed, state, now=self._services.clock()) else "lost"

    def _fail(self, claimed: Claim, sentence: str) -> str:
        gave_up = self._handlers[claimed.item.kind].gave_up
        with self._services.db.write() as connection:
            if not claims.end(connection, claimed, "failed", now=self._services.clock(), error=sentence):
                return "lost"
            if gave_up is not None:
                gave_up(connection, claimed.item, sentence)
        _log.warning("work_failed", kind=claimed.item.kind, key=claimed.item.key, why=sentence)
        return "failed"

    def _try_later(self, claimed: Claim, error: Exception) -> str:
        if claimed.attempts >= self._pace.attempts:
            return self._fail(claimed, _sentence(error))
        due_at = self._retry_at(claimed)
        with self._services.db.write() as connection:
            given = claims.give_back(connection, claimed, due_at=due_at, error=_sentence(error), attempts=claimed.attempts)
        return "postponed" if given else "lost"

    def _retry_at(self, claimed: Claim) -> int:
        wait = min(self._pace.retry * 2 ** (claimed.attempts - 1), self._pace.retry_cap)
        return self._services.clock() + int(wait * random.uniform(0.5, 1.0) * _MICROS)

    def _ended_early(self, claimed: Claim) -> str:
        now = self._services.clock()
        with self._services.db.write() as connection:
            row = claims.held(connection, claimed)
            if row is None:
                return "lost"
            if row.cancel:
                return "cancelled" if claims.end(connection, claimed, "cancelled", now=now) else "lost"
            claims.give_back(connection, claimed, due_at=now, error=None, attempts=claimed.attempts - 1)
        return "interrupted"


class RowRun:
    """A `Run` over rows. `attempts` counts the claims since a step was last finished."""

    def __init__(self, services: Services, claimed: Claim, *, stopping: threading.Event) -> None:
        self._services, self._claimed, self._stopping = services, claimed, stopping
        self._progress: tuple[int, int] | None = None
        self._told = self._checked = time.monotonic()
        self.attempts = claimed.attempts
        with services.db.read() as connection:
            self._finished = claims.steps(connection, claimed.item.work_id)

    @property
    def item(self) -> Item:
        """See `Run`."""
        return self._claimed.item

    def step(self, name: str, compute: Callable[[], T], store: Callable[[Connection, T], Any] | None = None) -> Any:
        """See `Run`."""
        if name in self._finished:
            return msgspec.json.decode(self._finished[name])
        self._look()
        value = compute()
        with self._services.db.write() as connection:
            self._hold(connection, advanced=True)
            kept = value if store is None else store(connection, value)
            result = msgspec.json.encode(kept).decode()
            claims.add_step(connection, self.item.work_id, name, result_json=result)
        self._finished[name] = result
        self.attempts = 1
        return kept

    def commit(self, store: Callable[[Connection], T]) -> T:
        """See `Run`."""
        self._look()
        with self._services.db.write() as connection:
            self._hold(connection, advanced=True)
            kept = store(connection)
        self.attempts = 1
        return kept

    def progress(self, done: int, total: int) -> None:
        """See `Run`."""
        self._progress = (done, total)
        if time.monotonic() - self._told > _PROGRESS_SECONDS:
            with self._services.db.write() as connection:
                self._hold(connection)

    def check(self) -> None:
        """See `Run`."""
        if time.monotonic() - self._checked > _CHECK_SECONDS:
            self._look()

    def _look(self) -> None:
        """Raise `Ended` unless the run may go on."""
        self._checked = time.monotonic()
        if self._stopping.is_set():
            raise Ended("the worker is about to end")
        with self._services.db.read() as connection:
            row = claims.held(connection, self._claimed)
        if row is None:
            raise Ended("another worker has taken the work over")
        if row.cancel:
            raise Ended("the work was cancelled")

    def _hold(self, connection: Connection, *, advanced: bool = False) -> None:
        if not claims.keep(connection, self._claimed, progress=self._progress, advanced=advanced):
            raise Ended("another worker has taken the work over")
        self._told = time.monotonic()


def _sentence(error: Exception) -> str:
    """One line about the error that can be shown to people."""
    line = " ".join(str(error).split())[:400]
    return line if isinstance(error, WorkFailed) and line else f"{type(error).__name__}: {line}" if line else type(error).__name__
