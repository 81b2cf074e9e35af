"""`benchloop_client.Client`: everything that `bl` does, from Python."""

from __future__ import annotations

from types import TracebackType

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

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
