"""The library behind `bl`: `Client` does what its commands do, and returns plain records and iterators.

    from benchloop_client import Client

    with Client() as client:
        for job in client.jobs("rl-run-7", outcome="failed"):
            print(job["job_id"], job["task_id"])

docs/guides/library.md shows more. Names are loaded when first used, so that importing the package costs next to nothing. What is not listed
in `__all__` is ours to change.
"""

from __future__ import annotations

import importlib

from benchloop_client.contract.version import __version__

# Type checkers take this name for true; importing `typing` for it would cost every start of `bl` more than all the rest of this file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchloop_client.actions.diff import Diff, Side
    from benchloop_client.actions.push import Pushed
    from benchloop_client.actions.report import Failure, PlannedFile, Report
    from benchloop_client.client import Body
    from benchloop_client.client import Client as Api
    from benchloop_client.errors import (
        ApiError,
        AuthError,
        BenchloopError,
        Cancelled,
        ConfigError,
        DiskFull,
        IntegrityError,
        LocalError,
        NetworkError,
        NotFound,
        NotReady,
        UsageError,
    )
    from benchloop_client.library.analyze import Analysis, analyze
    from benchloop_client.library.client import Client
    from benchloop_client.settings import Flags, Settings, load

__all__ = [
    "Analysis",
    "Api",
    "ApiError",
    "AuthError",
    "BenchloopError",
    "Body",
    "Cancelled",
    "Client",
    "ConfigError",
    "Diff",
    "DiskFull",
    "Failure",
    "Flags",
    "IntegrityError",
    "LocalError",
    "NetworkError",
    "NotFound",
    "NotReady",
    "PlannedFile",
    "Pushed",
    "Report",
    "Settings",
    "Side",
    "UsageError",
    "__version__",
    "analyze",
    "load",
]

#: Public name → where it is defined, as `module:name` where it has another name there. The other names are errors.
_HOME = {
    "Analysis": "library.analyze",
    "Api": "client:Client",
    "Body": "client",
    "Client": "library.client",
    "Diff": "actions.diff",
    "Failure": "actions.report",
    "Flags": "settings",
    "PlannedFile": "actions.report",
    "Pushed": "actions.push",
    "Report": "actions.report",
    "Settings": "settings",
    "Side": "actions.diff",
    "analyze": "library.analyze",
    "load": "settings",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, own_name = _HOME.get(name, "errors").partition(":")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), own_name or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
