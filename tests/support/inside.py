"""`bl` in this process: streams in memory, an environment of its own, and the real client against whatever server a test runs."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchloop_client import settings
from benchloop_client.cli.app import run
from benchloop_client.cli.env import Env
from benchloop_client.client import Client
from tests.support.programs import CANARY, Result


@dataclass(frozen=True)
class Inside:
    """How to run: whom to ask, with which key, and what else is in the environment. Retries are off unless a command line asks for them."""

    host: str
    key: str = CANARY
    variables: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *argv: str, stdin: str | bytes | None = None, **variables: str) -> Result:
        """Run one command line to its end."""
        out, err = io.BytesIO(), io.StringIO()
        environ = {"BENCHLOOP_HOST": self.host, "BENCHLOOP_API_KEY": self.key, "NO_PROXY": "*", **self.variables, **variables}
        raw = stdin.encode("utf-8", "surrogateescape") if isinstance(stdin, str) else stdin
        typed = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8") if raw is not None else None
        began = time.monotonic()
        env = Env(typed, out, err, time.monotonic, lambda flags: settings.load(flags, environ), Client)
        code = run(["--retry", "0", *argv], env)
        return Result(code, out.getvalue().decode("utf-8"), err.getvalue(), time.monotonic() - began)


def everything_below(root: Path) -> set[str]:
    """The path of all that is below `root`, folders and hidden files too."""
    return {path.relative_to(root).as_posix() for path in root.rglob("*")}
