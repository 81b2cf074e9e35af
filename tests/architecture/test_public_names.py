"""What `benchloop_client` promises to who imports it: the names listed here, each with a sentence. Taking one away breaks somebody."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterable
from types import ModuleType, SimpleNamespace

import benchloop_client

PROMISED = {
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
}
#: What nobody pays for who only imports the package.
HEAVY = ("click", "msgspec", "rich", "ssl", "urllib3")


def faults(package: ModuleType | SimpleNamespace, promised: Iterable[str]) -> list[str]:
    """Promised names that are not there or say nothing, and public names that were not promised."""
    found = [f"{name} is not promised" for name in package.__all__ if name not in promised]
    for name in promised:
        if name not in package.__all__ or not hasattr(package, name):
            found.append(f"{name} is missing")
        elif callable(getattr(package, name)) and not inspect.getdoc(getattr(package, name)):
            found.append(f"{name} has no docstring")
    return found


def test_the_promised_names_are_there() -> None:
    assert faults(benchloop_client, PROMISED) == []


def test_the_names_are_listed_in_order() -> None:
    assert benchloop_client.__all__ == sorted(benchloop_client.__all__)
    assert set(benchloop_client.__all__) <= set(dir(benchloop_client))


def test_importing_the_package_costs_nothing() -> None:
    look = f"import sys, benchloop_client; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_an_unpromised_and_a_silent_name_are_found() -> None:
    def silent() -> None:
        pass

    package = SimpleNamespace(__all__=["extra", "silent"], extra=1, silent=silent)
    assert faults(package, ["silent", "gone"]) == ["extra is not promised", "silent has no docstring", "gone is missing"]
