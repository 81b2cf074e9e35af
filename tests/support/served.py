"""The real application on a free loopback port, in a thread of the test's process, and plain requests to it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    """Serve the data folder `data` until the block ends; `environ` is all of the environment that the server sees."""
    services = wiring.open_services(settings.load(environ or {}, data=data, **options))
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(services)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    for _ in range(500):
        if server.started:
            break
        time.sleep(0.02)
    try:
        yield Served(services, f"http://127.0.0.1:{listener.getsockname()[1]}", data, app.app)
    finally:
        server.should_exit = True
        thread.join(10)
        services.db.close()
        listener.close()
