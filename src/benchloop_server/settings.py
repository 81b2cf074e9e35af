"""The server's settings: the only reader of its environment. Command line options win over variables, variables over defaults."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765

#: Every variable that is read, and what for.
VARIABLES = {
    "BENCHLOOP_SERVER_DATA": "data folder (default: benchloop in the user's data directory)",
    "BENCHLOOP_SERVER_HOST": f"address to listen on (default {DEFAULT_HOST})",
    "BENCHLOOP_SERVER_PORT": f"port to listen on, 0 for any free one (default {DEFAULT_PORT})",
    "BENCHLOOP_SERVER_DATABASE": "database URL (default: SQLite in the data folder)",
    "BENCHLOOP_SERVER_BLOBS": "blob store: a folder, s3://bucket/prefix or memory: (default: a folder in the data folder)",
    "BENCHLOOP_SERVER_LOG_LEVEL": "debug, info, warning or error (default info)",
    "AWS_*": "credentials, region and endpoint of an s3:// blob store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the data is and where to listen. `database` is a URL, empty for SQLite in the data folder; `aws` holds the AWS_* variables."""

    data: Path
    database: str
    blobs: str
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    log_level: str = "info"
    aws: Mapping[str, str] = field(default_factory=dict)


class BadSetting(ValueError):
    """A setting that cannot be used; the message names it."""


def load(environ: Mapping[str, str] | None = None, **options: str | int | Path | None) -> Settings:
    """Settings from `environ` (default: the process's) and `options` named like the fields; None means not given."""
    environ = os.environ if environ is None else environ
    given = {name: str(value) for name, value in options.items() if value is not None}

    def pick(name: str, variable: str, default: str) -> str:
        return given.get(name) or environ.get(f"BENCHLOOP_SERVER_{variable}") or default

    data = Path(pick("data", "DATA", str(_user_data(environ)))).expanduser().absolute()
    return Settings(
        data=data,
        database=pick("database", "DATABASE", ""),
        blobs=pick("blobs", "BLOBS", str(data / "blobs")),
        host=pick("host", "HOST", DEFAULT_HOST),
        port=_port(pick("port", "PORT", str(DEFAULT_PORT))),
        log_level=pick("log_level", "LOG_LEVEL", "info").lower(),
        aws={name: value for name, value in environ.items() if name.startswith("AWS_")},
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise BadSetting(f"the port has to be a number from 0 to 65535, not {text!r}")
    return int(text)


def _user_data(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or "~").expanduser()
    if environ.get("XDG_DATA_HOME"):
        return Path(environ["XDG_DATA_HOME"]) / "benchloop"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "benchloop"
    if sys.platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "benchloop"
    return home / ".local" / "share" / "benchloop"
