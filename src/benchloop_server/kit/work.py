"""Durable background work as features see it: what a handler is given, and how it ends. Work is wished for with `sql.work.enqueue`.

A handler may be stopped at any point, also by SIGKILL, and is then called again, by this or another worker. So it does everything that
lasts through `Run.step` or `Run.commit`: both write in one transaction that fails when the work was taken over meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from benchloop_server.kit.db import Connection
from benchloop_server.kit.services import Services

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One piece of work: `kind` picks the handler, `key` is what it is about (one live piece a workspace, kind and key)."""

    work_id: str
    workspace_id: str
    kind: str
    key: str
    args: dict[str, Any]


class Run(Protocol):
    """A piece of work in the hands of a worker."""

    @property
    def item(self) -> Item:
        """What it is."""

    def step(self, name: str, compute: Callable[[], T], store: Callable[[Connection, T], Any] | None = None) -> Any:
        """Do a part of the work once: `compute()` outside of any transaction, then `store(connection, value)` in the one that marks the
        step finished. What `store` returns (without it: what `compute` returned) has to be JSON; it is kept, and answered without doing
        anything where the step was finished by an earlier run. At least 200 jobs a step, or some seconds: each costs a commit.
        """

    def commit(self, store: Callable[[Connection], T]) -> T:
        """Write something without marking a step: for what can see by itself that it was done."""

    def progress(self, done: int, total: int) -> None:
        """How far it is; written with the next step, and once a second."""

    def check(self) -> None:
        """Raise `Ended` if this run should not go on: cancelled, taken over by another worker, or the worker is about to end. For long
        loops; cheap, as it looks twice a second at most. Every step checks by itself.
        """


class Ended(BaseException):
    """The run is over, whatever the handler would still do. Not an `Exception`, so that a handler's own `except` does not swallow it."""


class WorkFailed(Exception):
    """A handler's way to fail for good, with one sentence for people: trying again would not help."""


@dataclass(frozen=True, slots=True)
class Handler:
    """How one kind of work is done. `run` raises `WorkFailed`, or anything else to be tried again later. `gave_up(connection, item,
    sentence)` is told in the transaction that records a failure for good.
    """

    run: Callable[[Services, Run], None]
    gave_up: Callable[[Connection, Item, str], None] | None = None


class Engine(Protocol):
    """Carries work to handlers. One a worker process; its methods may be called from several threads, `Run`s are one thread's each."""

    def attend(self) -> None:
        """Say that this worker is alive, and free what dead workers held. To be called every few seconds."""

    def work_once(self) -> bool:
        """Do the most urgent piece of work that is due, to its end; False when nothing is."""

    def has_work(self) -> bool:
        """Whether anything is due, dead workers' included. Cheap, and changes nothing."""

    def prune(self) -> None:
        """Forget what ended long ago; to be called now and then."""

    def stop(self) -> None:
        """From now on no run goes past its next step or check; what it had not finished is due again at once."""

    def leave(self) -> None:
        """This worker is no more: what it still holds is free at once."""
