"""The library behind `bl`: `Client` has one method per API call, `load` reads the settings, the errors say what went wrong.

    from benchloop_client import Client, load
    with Client(load()) as client:
        client.group("G1")

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib

from benchloop_client.contract.version import __version__

# Type checkers take this name for true; importing `typing` for it would cost every start of `bl` more than all the rest of this file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchloop_client.client import Body, Client
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
        UsageError,
    )
    from benchloop_client.paging import Listing
    from benchloop_client.settings import Flags, Settings, load

__all__ = [
    "ApiError",
    "AuthError",
    "BenchloopError",
    "Body",
    "Cancelled",
    "Client",
    "ConfigError",
    "DiskFull",
    "Flags",
    "IntegrityError",
    "Listing",
    "LocalError",
    "NetworkError",
    "NotFound",
    "Settings",
    "UsageError",
    "__version__",
    "load",
]

_HOME = {
    "Body": "client",
    "Client": "client",
    "Flags": "settings",
    "Listing": "paging",
    "Settings": "settings",
    "load": "settings",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
