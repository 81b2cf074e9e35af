"""What every test gets: a clean environment, a world that ends at the loopback interface, and the real run data where it is at hand."""

from __future__ import annotations

import itertools
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]

_KEPT = ("BENCHLOOP_TEST_", "BENCHLOOP_SHARED_DATA")
_DROPPED = ("BENCHLOOP_", "BENCHMARK_", "AP_", "XDG_")
_PROXIES = {"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"}
_HOMES = itertools.count()


def missing(what: str) -> None:
    """Skip the test because this machine lacks `what`; on CI, where everything is installed, that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}, and CI must have it")
    pytest.skip(what)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real run data, `../shared/data` beside the checkout or `BENCHLOOP_SHARED_DATA`."""
    path = Path(os.environ.get("BENCHLOOP_SHARED_DATA") or ROOT.parent / "shared" / "data")
    if not path.is_dir():
        missing(f"no run data at {path}")
    return path


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """A PostgreSQL database that tests may fill and empty: `BENCHLOOP_TEST_POSTGRES`, an SQLAlchemy URL."""
    url = os.environ.get("BENCHLOOP_TEST_POSTGRES", "")
    if not url:
        missing("BENCHLOOP_TEST_POSTGRES is not set")
    return url


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the home folder of each test."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def clean_environment(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No setting, proxy or file of the person who runs the tests reaches them; the home folder is empty and the test's own."""
    for name in list(os.environ):
        if name.startswith(_KEPT):
            continue
        if name.startswith(_DROPPED) or name.lower() in _PROXIES:
            monkeypatch.delenv(name)
    home = homes / str(next(_HOMES))
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    # Which index this machine's installer asks is nobody's business here; tests of that take this back.
    monkeypatch.setenv("BENCHLOOP_NO_UPDATE_CHECK", "1")
    return home


class OutsideWorld(OSError):
    """A test tried to reach something that is not on this machine."""


_reached: list[str] = []


def _is_here(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str) or host in {"", "localhost", "::1", "::", "0.0.0.0"}:
        return True
    return host.startswith("127.")


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(args[1], tuple) and not _is_here(args[1][0]):
        _reached.append(str(args[1][0]))
        raise OutsideWorld(f"tests stay on this machine, refused to connect to {args[1][0]}")
    if event == "socket.getaddrinfo" and not _is_here(args[0]):
        if not str(args[0]).endswith((".invalid", ".test", ".example")):
            _reached.append(str(args[0]))
        raise socket.gaierror(socket.EAI_NONAME, f"tests stay on this machine, refused to look up {args[0]}")


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def only_this_machine() -> Iterator[None]:
    """Fails a test that tried to reach another machine; names that cannot exist (`.invalid`, `.test`, `.example`) may be looked up."""
    _reached.clear()
    yield
    assert not _reached, f"the test tried to reach {', '.join(_reached)}"
