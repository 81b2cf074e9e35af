"""Computing that would keep others from working: functions called by name, in this process or in others."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from benchloop_server.kit.blobs import BlobStore

#: Given the blob store and a task, it answers with bytes.
Function = Callable[[BlobStore, bytes], bytes]


@dataclass(frozen=True, slots=True)
class Program:
    """The function `name` of `module`."""

    module: str
    name: str

    def load(self) -> Function:
        """The function itself."""
        found: Function = getattr(importlib.import_module(self.module), self.name)
        return found


class Hands(Protocol):
    """Who computes."""

    def each(self, program: Program, tasks: Iterable[bytes], *, blobs: BlobStore, waiting: Callable[[], None]) -> Iterator[bytes | None]:
        """The answer to each task in the order of the tasks, which are taken only a few ahead; None where a process died of it.

        `blobs` are those of this process; another one opens the same store. `waiting` is called now and then; what it raises ends all.
        """


class OwnHands:
    """In this process and thread."""

    def each(self, program: Program, tasks: Iterable[bytes], *, blobs: BlobStore, waiting: Callable[[], None]) -> Iterator[bytes | None]:
        """See `Hands`."""
        function = program.load()
        for task in tasks:
            waiting()
            yield function(blobs, task)
