"""An engine of background work to try things on: its clock is moved by hand, and its handlers are the test's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from benchloop_server.adapters.engine_rows import Pace, RowEngine
from benchloop_server.kit.services import Services
from benchloop_server.kit.upkeep import Upkeep
from benchloop_server.kit.work import Handler, Run
from benchloop_server.sql import work
from benchloop_server.sql.work import Standing, Wish

MICROS = 1_000_000
LEASE = Upkeep().lease_seconds
PACE = Pace(retry=2, retry_cap=60, attempts=3, keep_days=7)


class HandClock:
    """Microseconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000 * MICROS

    def __call__(self) -> int:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        """Move on."""
        self.now += int(seconds * MICROS)


class Shop:
    """Services, their clock, and engines over them. Every kind of work is done by `handle`."""

    def __init__(self, services: Services) -> None:
        self.clock = HandClock()
        self.services = dataclasses.replace(services, clock=self.clock)
        self.handlers: dict[str, Handler] = {}

    def handle(self, kind: str, run: Callable[[Run], None], **more: Any) -> None:
        """Let `run` do the work of this kind."""
        self.handlers[kind] = Handler(lambda _services, given: run(given), **more)

    def engine(self, name: str = "w1") -> RowEngine:
        """A worker that has just started."""
        engine = RowEngine(self.services, self.handlers, worker_id=name, pace=PACE)
        engine.attend()
        return engine

    def wish(self, kind: str = "count", key: str = "a", **more: Any) -> str:
        """Wish for work in a transaction of its own."""
        with self.services.db.write() as connection:
            return work.enqueue(connection, Wish(workspace_id="default", kind=kind, key=key, **more), now=self.clock())

    def standing(self, kind: str = "count", key: str = "a") -> Standing:
        """How the work stands."""
        with self.services.db.read() as connection:
            return work.standing(connection, "default", kind, keys=[key])[key]
