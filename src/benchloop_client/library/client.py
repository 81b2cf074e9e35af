"""`benchloop_client.Client`: everything that `bl` does, from Python."""

from __future__ import annotations

import copy
import dataclasses
from types import TracebackType
from typing import Any

from benchloop_client.actions.selection import Selection
from benchloop_client.errors import UsageError
from benchloop_client.library.analysis import Analysis
from benchloop_client.library.editing import Editing
from benchloop_client.library.files import Files
from benchloop_client.library.reading import Reading


class Client(Reading, Analysis, Editing, Files):
    """The data of one Benchloop server. What each command of `bl` does is one call here, returning plain records or iterators.

        from benchloop_client import Client

        with Client() as client:
            for job in client.jobs("rl-run-7", outcome="failed"):
                print(job["job_id"], job["task_id"])

    `Client()` reads host and key from the environment and the configuration file, as `bl` does; `Client(host, api_key)` names them. Safe
    to share between threads. Calls raise `AuthError`, `NotFound`, `ApiError`, `NetworkError` and `UsageError`, all of them a
    `BenchloopError`. An iterator asks for its next page only when it is read that far.
    """

    def select(self, **conditions: Any) -> Client:
        """The same connections, for downloads of some of a group's jobs (or a download task's): `client.select(sample=20).pull(...)`.

        Conditions, each one value or several: status, outcome, tasks, steps, fail_reasons; `sample`: at most so many of them, always the
        same ones, drawn by `seed`. Calls about single jobs, and lists, are not narrowed. Raises `UsageError` for another condition.
        """
        known = {field.name for field in dataclasses.fields(Selection)}
        if unknown := sorted(set(conditions) - known):
            raise UsageError(f"jobs cannot be selected by {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        narrowed = copy.copy(self)
        narrowed.selection = Selection(**{name: _several(name, value) for name, value in conditions.items()})
        return narrowed

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _several(name: str, value: Any) -> Any:
    """A condition of a selection as it is kept: several values, but for the two that have one."""
    if name in {"sample", "seed"}:
        return value
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (value,)
