"""The configuration file as it is read: its keys, its profiles, and the line that is at fault where one is."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchloop_client.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

DEFAULT_CONFIG = "~/.benchloop/config.toml"
#: The documented table `[profile]`; a named one is `[profile.NAME]`.
DEFAULT_PROFILE = "default"
MAX_TIMEOUT = 1e7

Kind = Literal["text", "switch", "seconds", "count", "retries"]
_WORDS: dict[Kind, str] = {
    "text": "a string",
    "switch": "true or false",
    "seconds": f"a number of seconds above 0 and below {MAX_TIMEOUT:,.0f}",
    "count": "a whole number from 1",
    "retries": "a whole number from 0",
}
_LINE = re.compile(r"\(at line (\d+)")
_HEADER = re.compile(r"\s*\[+\s*(?P<name>[^\]]+?)\s*\]+")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a profile: its kind, its default (None: unset), what it is for, and the variables that it may also come from."""

    kind: Kind
    default: object
    text: str
    variables: tuple[str, ...] = ()


#: Every key that a profile may hold, in the order in which they are shown.
KEYS: dict[str, Key] = {
    "host": Key("text", "https://benchmark-analysis.alibaba-inc.com", "Base URL of the server.", ("BENCHLOOP_HOST", "bmcli_HOST")),
    "api_key": Key("text", None, "Key for the server.", ("BENCHLOOP_API_KEY", "BENCHMARK_API_KEY", "bmcli_API_KEY")),
    "output_dir": Key("text", ".", "Download root.", ("BENCHLOOP_OUTPUT_DIR", "bmcli_OUTPUT_DIR")),
    "allow_http": Key("switch", False, "Whether the key may go over plain http to another machine."),
    "cacert": Key("text", None, "PEM file of certificate authorities to trust beside the system's."),
    "proxy": Key("text", None, "Proxy for every request; 'none' for no proxy, whatever the environment says."),
    "timeout": Key("seconds", 300.0, "Limit of each wait in seconds."),
    "retry": Key("retries", 2, "How often a failed request is repeated."),
    "concurrency": Key("count", None, "Requests at once, at most; unset means adaptive."),
    "update_check": Key("switch", True, "Whether to look for a newer version of bl, at most once a day."),
}


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a file says. `tables`: profile name → its own keys; `text` is kept to find lines in."""

    path: Path
    exists: bool = False
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    text: str = field(default="", repr=False)

    def profile(self, name: str) -> Mapping[str, Any]:
        """The keys of one profile, known and unknown ones; a named one inherits nothing. Raises `ConfigError` for a name that is not there
        and for a value of the wrong kind.
        """
        table = self.tables.get(name)
        if table is None and name == DEFAULT_PROFILE:
            return {}
        if table is None:
            known = ", ".join(self.names) or "none"
            raise ConfigError(f"{self.path} has no profile {name!r} (it has: {known}); `bl config set --profile {name}` makes one")
        for key, value in table.items():
            if key in KEYS and not fits(KEYS[key].kind, value):
                raise ConfigError(f"{self.where(name, key)}: `{key}` in {heading(name)} must be {wanted(KEYS[key].kind)}")
        return table

    @property
    def names(self) -> tuple[str, ...]:
        """The profiles that the file holds."""
        return tuple(self.tables)

    def where(self, profile: str, key: str) -> str:
        """`file:line` of a key, for messages."""
        table, line = "", 0
        for number, text in enumerate(self.text.splitlines(), 1):
            header = _HEADER.match(text)
            if header:
                table = re.sub(r"[\s\"']", "", header["name"])
            elif f"[{table}]" == heading(profile) and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", text):
                line = number
        return f"{self.path}:{line}" if line else str(self.path)


def config_path(given: str | None = None) -> Path:
    """The configuration file: the one given (`~` expanded), else the default one."""
    return Path(given or DEFAULT_CONFIG).expanduser()


def read(path: Path, *, must_exist: bool = False) -> ConfigFile:
    """The file at `path`; empty when it is missing and need not exist. Raises `ConfigError` with file and line for what is no TOML."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(f"configuration file {path} does not exist") from None
        return ConfigFile(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration file {path} cannot be read: {_reason(error)}") from None
    return ConfigFile(path, True, _tables(parse(text, path).get("profile"), path), text)


def parse(text: str, path: Path) -> dict[str, Any]:
    """`text` as TOML. Raises `ConfigError` with `path` and line."""
    try:
        document: dict[str, Any] = tomllib.loads(text)
        return document
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}:{_line_of(error, text)}: the configuration file is not valid TOML; mend it or move it away") from None


def fits(kind: Kind, value: object) -> bool:
    """True for a value that a key of this kind may have."""
    if isinstance(value, bool):
        return kind == "switch"
    if kind == "text":
        return isinstance(value, str)
    if kind == "seconds":
        return isinstance(value, (int, float)) and 0 < value < MAX_TIMEOUT
    return isinstance(value, int) and value >= (1 if kind == "count" else 0) and kind in {"count", "retries"}


def wanted(kind: Kind) -> str:
    """What a value of this kind must be, in words."""
    return _WORDS[kind]


def heading(profile: str) -> str:
    """The table that holds a profile, as it stands in the file."""
    return "[profile]" if profile == DEFAULT_PROFILE else f"[profile.{profile}]"


def check_profile_name(name: str) -> str:
    """`name`, trimmed. Raises `ConfigError` for a name that cannot be a profile's: a key has it, or it holds other signs."""
    name = name.strip()
    if name in KEYS or not _NAME.fullmatch(name):
        raise ConfigError(f"{name[:64]!r} cannot be the name of a profile: letters, digits, '_' and '-', and not the name of a key")
    return name


def _tables(profile: object, path: Path) -> dict[str, Mapping[str, Any]]:
    if profile is None:
        return {}
    if not isinstance(profile, dict):
        raise ConfigError(f"{path}: `profile` must be a table: [profile]")
    named = {name: table for name, table in profile.items() if isinstance(table, dict) and name not in KEYS}
    if DEFAULT_PROFILE in named:
        raise ConfigError(f"{path}: [profile.{DEFAULT_PROFILE}] is written [profile]; rename the table")
    own = {key: value for key, value in profile.items() if key not in named}
    return {**({DEFAULT_PROFILE: own} if own or not named else {}), **named}


def _line_of(error: Exception, text: str) -> int:
    found = _LINE.search(str(error))
    return int(found.group(1)) if found else max(1, len(text.splitlines()))


def _reason(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else "it is not UTF-8 text"
