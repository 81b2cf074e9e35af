"""The writer of the configuration file: changes single values and leaves comments, order and everything else as they are."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from benchloop_client.errors import ConfigError, LocalError
from benchloop_client.settings import check_host, check_key, read_profile


def save(path: Path, changes: Mapping[str, str | bool]) -> Path:
    """Set `changes` (api_key, host, output_dir, allow_http) in table `[profile]` of `path`, made if missing, mode 0600 in a folder of mode
    0700. A link is followed. Raises `ConfigError` if the present file is broken (it is left alone), `UsageError` for a bad host or key,
    `LocalError` if it cannot be written.
    """
    read_profile(path)
    try:
        document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
    except TOMLKitError:
        raise ConfigError(f"{path}: the configuration file cannot be edited; mend it or move it away") from None
    profile = document.setdefault("profile", tomlkit.table())
    assert isinstance(profile, Table) or hasattr(profile, "__setitem__")
    for name, value in changes.items():
        profile[name] = _checked(name, value)
    try:
        _replace(Path(os.path.realpath(path)), tomlkit.dumps(document).encode("utf-8"))
    except OSError as error:
        raise LocalError(f"configuration file {path} cannot be written: {error.strerror or error}") from None
    return path


def _checked(name: str, value: str | bool) -> str | bool:
    if name == "host" and isinstance(value, str):
        return check_host(value)
    if name == "api_key" and isinstance(value, str):
        return check_key(value)
    return value


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
