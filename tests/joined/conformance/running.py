"""`bl` in this process against a server on loopback: what it printed, what it wrote, and how it ended."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from benchloop_client import settings
from benchloop_client.cli.app import run
from benchloop_client.cli.env import Env
from benchloop_client.client import Client

KEY = "sk-conformance-key"


@dataclass(frozen=True)
class Ran:
    """Exit code and both streams; `loaded`: the settings that the command worked with."""

    code: int
    out: str
    err: str
    loaded: tuple[settings.Settings, ...] = field(default=(), repr=False)

    @property
    def json(self) -> Any:
        """stdout as JSON."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines on stderr."""
        return self.err.splitlines()

    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out[-3000:]}\n--- stderr\n{self.err[-3000:]}"


class Typed(io.TextIOWrapper):
    """A stdin that holds a text."""

    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8")


class Screen(io.StringIO):
    """A stderr that is somebody's terminal, 80 columns wide."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Bl:
    """How to run: with which host and key in the environment, and as if how much time went by between two looks at the clock."""

    monkeypatch: pytest.MonkeyPatch
    home: Path
    host: str | None = None
    key: str | None = KEY
    clock: Callable[[], float] = time.monotonic
    stderr: Callable[[], io.StringIO] = io.StringIO
    env: dict[str, str] = field(default_factory=dict)

    def but(self, **changes: Any) -> Bl:
        """The same with other values."""
        return replace(self, **changes)

    def __call__(self, *argv: str, stdin: str | None = None, **env: str) -> Ran:
        """Run one command line to its end."""
        out, err = io.BytesIO(), self.stderr()
        loaded: list[settings.Settings] = []

        def load(flags: settings.Flags) -> settings.Settings:
            loaded.append(settings.load(flags))
            return loaded[-1]

        def opened(found: settings.Settings, cancel: threading.Event) -> Client:
            return Client(found, cancel)

        typed = Typed(stdin) if stdin is not None else None
        with self.monkeypatch.context() as patched:
            for name, value in {"BENCHLOOP_HOST": self.host, "BENCHLOOP_API_KEY": self.key, **self.env, **env}.items():
                if value is not None:
                    patched.setenv(name, value)
            patched.setenv("HOME", str(self.home))
            code = run(list(argv), Env(typed, out, err, self.clock, load, opened))
        return Ran(int(code), out.getvalue().decode(), err.getvalue(), tuple(loaded))
