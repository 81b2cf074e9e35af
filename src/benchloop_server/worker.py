"""A worker process: does background work until it is told to stop, and ends with its parent. Which kinds there are, and who does them."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import structlog

from benchloop_server.http import logs
from benchloop_server.kit.db import DatabaseError
from benchloop_server.kit.work import Engine, Handler
from benchloop_server.settings import Settings, load
from benchloop_server.wiring import for_work, open_engine, open_services

#: Every kind of work, and the module whose `HANDLER` does it; loaded when there is such work, because some load a lot.
KINDS = {
    "analyse": "benchloop_server.features.analysis.tasks",
    "opine": "benchloop_server.features.analysis.opinion_tasks",
    "observe": "benchloop_server.features.analysis.observing",
    "pack": "benchloop_server.features.packing.tasks",
    "study": "benchloop_server.features.behaviour.tasks",
}

_log = structlog.get_logger("benchloop_server.work")
_HOUR = 3600.0
#: The server that started it comes first where both want the processor.
_NICE = 5


class Handlers(Mapping[str, Handler]):
    """The handlers of `KINDS`, each loaded when it is first asked for."""

    def __getitem__(self, kind: str) -> Handler:
        handler: Handler = importlib.import_module(KINDS[kind]).HANDLER
        return handler

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How a worker works: pieces at a time, seconds between looks for work, between signs of life, and for ending when it is told to stop;
    after `idle` seconds without work it ends by itself (None: never).
    """

    slots: int = 2
    poll: float = 0.5
    beat: float = 3.0
    grace: float = 8.0
    idle: float | None = None


def new_id() -> str:
    """A name for a worker."""
    return f"w-{secrets.token_hex(8)}"


def work(settings: Settings, *, worker_id: str, shift: Shift, stopping: threading.Event) -> None:
    """Work until `stopping` is set or the shift's idle time is over."""
    services = for_work(open_services(settings), settings)
    try:
        Workplace(open_engine(services, Handlers(), worker_id=worker_id), shift, stopping).run()
    finally:
        services.db.close()


class Workplace:
    """The threads of one worker: `shift.slots` that work, and the calling one, which gives signs of life."""

    def __init__(self, engine: Engine, shift: Shift, stopping: threading.Event) -> None:
        self._engine, self._shift, self._stopping = engine, shift, stopping
        self._busy = 0
        self._last_work = time.monotonic()
        self._lock = threading.Lock()

    def run(self) -> None:
        """Until the end of the shift; what is unfinished then is free for others."""
        self._engine.attend()
        threads = [threading.Thread(target=self._slot, name=f"slot-{number}", daemon=True) for number in range(self._shift.slots)]
        for thread in threads:
            thread.start()
        pruned = -_HOUR
        while not self._stopping.wait(self._shift.beat) and not self._is_idle():
            if time.monotonic() - pruned > _HOUR:
                pruned = time.monotonic()
                self._try(self._engine.prune)
            self._try(self._engine.attend)
        self._stopping.set()
        self._engine.stop()
        until = time.monotonic() + self._shift.grace
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._try(self._engine.leave)

    def _slot(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                self._busy += 1
            try:
                worked = self._try(self._engine.work_once)
            finally:
                with self._lock:
                    self._busy -= 1
            if worked:
                self._last_work = time.monotonic()
            else:
                self._stopping.wait(self._shift.poll)

    def _is_idle(self) -> bool:
        idle = self._shift.idle
        return idle is not None and not self._busy and time.monotonic() - self._last_work > idle

    @staticmethod
    def _try(action: object) -> bool:
        """Do it; a database that does not answer just now is no reason for a worker to end."""
        try:
            return bool(action())  # type: ignore[operator]
        except (DatabaseError, OSError):
            _log.warning("worker_hindered", exc_info=True)
            return False


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set; a second signal ends the process at once."""
    stopping = threading.Event()

    def stop(_number: int, _frame: object) -> None:
        if stopping.is_set():
            os._exit(1)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    return stopping


def end_with_parent() -> None:
    """End this process when its standard input does: the parent holds the other end, and an end by SIGKILL closes that, too."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def main() -> None:
    """The worker that `serve` starts: its settings are in the environment, its parent at the other end of standard input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--id", required=True)
    parser.add_argument("--idle", type=float, required=True)
    given = parser.parse_args()
    end_with_parent()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICE)
    stopping = stop_on_signals()
    settings = load()
    logs.configure(settings.log_level, access="off", work=settings.data / "logs" / "worker.jsonl")
    work(settings, worker_id=given.id, shift=Shift(idle=given.idle), stopping=stopping)


if __name__ == "__main__":
    main()
