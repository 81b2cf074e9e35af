"""The server's side of its worker processes: starts them when there is work, again when they die, and takes them along when it ends."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from zlib import crc32

import structlog

from benchloop_client.contract.version import __version__
from benchloop_server.kit.db import Database, DatabaseError
from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Engine
from benchloop_server.settings import Settings, for_child
from benchloop_server.sql import claims, observations
from benchloop_server.wiring import open_engine
from benchloop_server.worker import Handlers, new_id

_log = structlog.get_logger("benchloop_server.work")
_POLL_SECONDS = 1.0
#: A worker without work ends after this long; the next work has another one started.
_IDLE_SECONDS = 60.0
#: A worker that died is replaced after 1, 2, 4 … seconds; one that lived this long begins at 1 again.
_LONGEST_PAUSE = 60.0
_STOP_SECONDS = 1.0


@dataclass(slots=True)
class _Post:
    """One place for a worker process."""

    process: subprocess.Popen[bytes] | None = None
    worker_id: str = ""
    started: float = 0.0
    deaths: int = 0
    not_before: float = 0.0


class Foreman:
    """Up to `settings.workers` worker processes for the time of a `with`. Nothing is started before there is work."""

    def __init__(self, settings: Settings, services: Services) -> None:
        self._settings, self._services = settings, services
        # Blobs in this process's memory are no other process's: then there is nobody to send.
        self._posts = [_Post() for _ in range(0 if settings.blobs.startswith("memory:") else settings.workers)]
        self._engine: Engine = open_engine(services, Handlers(), worker_id=new_id())
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="foreman", daemon=True)

    def __enter__(self) -> Foreman:
        if self._posts:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        if self._posts:
            self._thread.join(_STOP_SECONDS)
        running = [post.process for post in self._posts if post.process is not None]
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        until = time.monotonic() + _STOP_SECONDS
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            process.kill()
            process.wait()
        for post in self._posts:
            self._forget(post)

    def _watch(self) -> None:
        try:
            _wish_after_upgrade(self._services)
        except (DatabaseError, OSError):
            _log.warning("foreman_hindered", exc_info=True)
        while not self._ending.wait(_POLL_SECONDS):
            try:
                self._look()
            except (DatabaseError, OSError):
                _log.warning("foreman_hindered", exc_info=True)

    def _look(self) -> None:
        for post in self._posts:
            self._bury(post)
        empty = [post for post in self._posts if post.process is None and time.monotonic() >= post.not_before]
        if empty and self._engine.has_work():
            self._start(empty[0])

    def _start(self, post: _Post) -> None:
        post.worker_id, post.started = new_id(), time.monotonic()
        command = [sys.executable, "-m", "benchloop_server.worker", "--id", post.worker_id, "--idle", str(_IDLE_SECONDS)]
        environment = {**for_child(self._settings), "PYTHONSAFEPATH": "1"}
        post.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
        _log.debug("worker_started", worker=post.worker_id, pid=post.process.pid)

    def _bury(self, post: _Post) -> None:
        """Clear the post of a worker that is no more; what it held may be claimed at once."""
        code = None if post.process is None else post.process.poll()
        if post.process is None or code is None:
            return
        if post.process.stdin is not None:
            post.process.stdin.close()
        post.process = None
        if code:
            lived = time.monotonic() - post.started
            post.deaths = 1 if lived > _LONGEST_PAUSE else post.deaths + 1
            pause = min(2.0 ** (post.deaths - 1), _LONGEST_PAUSE)
            post.not_before = time.monotonic() + pause
            _log.warning("worker_died", worker=post.worker_id, code=code, lived_seconds=round(lived, 1), next_in_seconds=pause)
        self._forget(post)

    def _forget(self, post: _Post) -> None:
        if post.worker_id:
            _forget(self._services.db, post.worker_id, now=self._services.clock())
            post.worker_id = ""


def _forget(database: Database, worker_id: str, *, now: int) -> None:
    with contextlib.suppress(DatabaseError), database.write() as connection:
        claims.forget(connection, worker_id, now=now)


def _wish_after_upgrade(services: Services) -> None:
    """A newer program may see more in what jobs did: workers look through all groups, when they have nothing else to do."""
    with services.db.write() as connection:
        found = observations.wish_after_upgrade(connection, program=crc32(__version__.encode()), now=services.clock())
    if found:
        _log.info("groups_to_observe", groups=found)
