"""The real application on a free loopback port, in a thread of the test's process, and plain requests to it."""

from __future__ import annotations

import contextlib
import functools
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import urllib3
import uvicorn
from litestar import Litestar

from benchloop_server import settings, wiring
from benchloop_server.app import create_app
from benchloop_server.features.accounts import service as accounts
from benchloop_server.kit.services import Services


@dataclass
class Served:
    """A running server: its services, its address, and a key of each workspace that was asked for."""

    services: Services
    url: str
    data: Path
    app: Litestar
    keys: dict[str, str] = field(default_factory=dict)
    pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(retries=False, timeout=30))

    def key(self, workspace: str = "default") -> str:
        """A read and write key of the workspace."""
        if workspace not in self.keys:
            self.keys[workspace], _ = accounts.create_key(self.services.db, "test", workspace=workspace)
        return self.keys[workspace]

    def use(self, services: Services) -> None:
        """Let the server answer from these services from now on."""
        self.services = self.app.state["services"] = services

    def request(self, method: str, path: str, *, workspace: str = "default", **options: Any) -> urllib3.BaseHTTPResponse:
        """One request; the body is read and never decoded by its coding. `headers`, `json`, `body`, `fields` as urllib3 takes them."""
        headers = {"X-API-Key": self.key(workspace), **options.pop("headers", {})}
        options.setdefault("decode_content", False)
        return self.pool.request(method, self.url + path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> urllib3.BaseHTTPResponse:
        """A GET."""
        return self.request("GET", path, **options)


@contextlib.contextmanager
def serving(data: Path, *, environ: Mapping[str, str] | None = None, **options: Any) -> Iterator[Served]:
    """Serve the data folder `data` until the block ends; `environ` is all of the environment that the server sees.

    Building the application takes ten times as long as a test's requests: with the usual settings it is built once a process, and given
    the services of each data folder in turn. Two at a time are two applications.
    """
    _lay_schema(data, database="database" in options)
    services = wiring.open_services(settings.load(environ or {}, data=data, **options))
    usual = not environ and not options
    stage = _FREE.pop() if usual and _FREE else _Stage(services)
    stage.app.state["services"] = services
    try:
        yield Served(services, stage.url, data, stage.app)
    finally:
        if usual:
            _FREE.append(stage)
        else:
            stage.close()
        services.db.close()


class _Stage:
    """An application that listens."""

    def __init__(self, services: Services) -> None:
        frame = create_app(services)
        self.app = cast(Litestar, frame.app)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(frame, log_config=None, lifespan="on"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)
        self._thread.start()
        for _ in range(500):
            if self._server.started:
                break
            time.sleep(0.02)

    def close(self) -> None:
        """Stop listening."""
        self._server.should_exit = True
        self._thread.join(10)
        self._listener.close()


#: Applications with the usual settings that nobody uses now.
_FREE: list[_Stage] = []


@functools.cache
def _schema() -> bytes:
    """An empty database of SQLite with this program's schema; bringing one there takes longer than copying it."""
    with tempfile.TemporaryDirectory() as folder:
        wiring.open_database(settings.load({}, data=Path(folder))).close()
        return (Path(folder) / "benchloop.sqlite3").read_bytes()


def _lay_schema(data: Path, *, database: bool) -> None:
    if not database and not data.exists():
        data.mkdir(mode=0o700, parents=True)
        (data / "benchloop.sqlite3").write_bytes(_schema())
