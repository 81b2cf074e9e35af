"""`bl` in this process: streams in memory, a clock that stands still, and a client that answers from memory."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchloop_client.cli.app import run
from benchloop_client.cli.env import Env
from benchloop_client.errors import ApiError, NotFound
from benchloop_client.settings import Settings, load

KEY = "blk_CanaryKeyThatMustNotLeak1234567890"


class FakeClient:
    """Answers `job_metrics` and lists from memory; an exception among the answers is raised."""

    def __init__(self, settings: Settings, cancel: threading.Event) -> None:
        self.settings = settings
        self.cancel = cancel
        self.closed = False
        self.calls: list[tuple[str, Any]] = []
        self.answers: dict[str, Any] = {}
        self.groups: dict[str, list[dict[str, Any]]] = {}

    def width(self) -> int:
        return 4

    def has(self, feature: str) -> bool:
        return False

    def moved_bytes(self) -> int:
        return 0

    def tell(self, say: Callable[[str], None]) -> None:
        self.say = say

    def retrying(self, work: Callable[[], Any]) -> Any:
        return work()

    def close(self) -> None:
        self.closed = True

    def job_metrics(self, job_id: str) -> Any:
        self.calls.append(("job_metrics", job_id))
        answer = self.answers.get(job_id, NotFound(404, f"no job {job_id}"))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def group(self, group_id: str) -> Any:
        if group_id not in self.groups:
            raise NotFound(404, f"no group {group_id}")
        return {"group_id": group_id}

    def jobs_page(self, group_id: str, *, skip: int = 0, limit: int = 50, cursor: str | None = None, filters: Any = None) -> Any:
        self.calls.append(("jobs_page", (group_id, skip, limit, dict(filters or {}))))
        rows = self.groups.get(group_id, [])
        return {"jobs": rows[skip : skip + limit], "total": len(rows)}

    def group_put(self, *_: Any) -> Any:
        raise ApiError(500, "not in this fake")


@dataclass
class Ran:
    """What one command line left behind."""

    code: int
    out: str
    err: str
    client: FakeClient | None
    settings: list[Settings] = field(default_factory=list)

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Bl = Callable[..., Ran]


@pytest.fixture
def bl() -> Bl:
    """Run one command line; `answers` and `groups` fill the client."""

    def call(
        *argv: str, stdin: str | None = None, env: Mapping[str, str] | None = None, prepare: Callable[[FakeClient], None] | None = None
    ) -> Ran:
        out, err = io.BytesIO(), io.StringIO()
        made: list[FakeClient] = []
        loaded: list[Settings] = []
        environ = {"BENCHLOOP_API_KEY": KEY, "BENCHLOOP_HOST": "http://127.0.0.1:9", **(env or {})}

        def load_settings(flags: Any) -> Settings:
            loaded.append(load(flags, environ))
            return loaded[-1]

        def open_client(settings: Settings, cancel: threading.Event) -> Any:
            made.append(FakeClient(settings, cancel))
            if prepare:
                prepare(made[-1])
            return made[-1]

        typed = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), encoding="utf-8") if stdin is not None else None
        code = run(list(argv), Env(typed, out, err, lambda: 0.0, load_settings, open_client))
        return Ran(code, out.getvalue().decode(), err.getvalue(), made[0] if made else None, loaded)

    return call
