"""The writer of the configuration file: changes single values and leaves comments, order and everything else as they are."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import tomlkit

from benchloop_client import configfile
from benchloop_client.addresses import Proxies, check_host
from benchloop_client.configfile import DEFAULT_PROFILE, KEYS
from benchloop_client.errors import ConfigError, LocalError, UsageError
from benchloop_client.settings import check_key

#: A parsed file, or a table of it: plain, or as tomlkit keeps it with its comments.
Document = MutableMapping[str, Any]


def save(path: Path, changes: Mapping[str, object], *, profile: str = DEFAULT_PROFILE) -> Path:
    """Set `changes` (names of `configfile.KEYS`) in a profile of `path`, made if missing, mode 0600 in a folder of mode 0700. A link is
    followed. Raises `ConfigError` if the present file is broken (it is left alone), `UsageError` for a value that could not be used,
    `LocalError` if it cannot be written.
    """
    if profile != DEFAULT_PROFILE:
        profile = configfile.check_profile_name(profile)
    checked = {name: checked_value(name, value) for name, value in changes.items()}

    def change(document: Document) -> None:
        table = _made(document, "profile")
        table = table if profile == DEFAULT_PROFILE else _made(table, profile)
        for name, value in checked.items():
            table[name] = value

    return _edit(path, change)


def remove(path: Path, names: Iterable[str], *, profile: str = DEFAULT_PROFILE) -> tuple[str, ...]:
    """Take keys out of a profile; returns those that were there. Raises as `save`, and `ConfigError` for a profile that is not there."""
    present = configfile.read(path).profile(profile)
    found = tuple(name for name in names if name in present)

    def change(document: Document) -> None:
        table = document["profile"] if profile == DEFAULT_PROFILE else document["profile"][profile]
        for name in found:
            del table[name]

    if found:
        _edit(path, change)
    return found


def remove_profile(path: Path, profile: str) -> None:
    """Take a whole profile out. Raises as `remove`."""
    keys = configfile.read(path).profile(profile)
    if profile == DEFAULT_PROFILE:
        remove(path, keys)
    else:
        _edit(path, lambda document: document["profile"].__delitem__(profile))


def checked_value(name: str, value: object) -> object:
    """A value as it is stored. Raises `UsageError` for one that could not be used."""
    kind = KEYS[name].kind
    if not configfile.fits(kind, value):
        raise UsageError(f"{name} must be {configfile.wanted(kind)}")
    if isinstance(value, str):
        value = _readable(name, value)
    if name == "host":
        return check_host(str(value))
    if name == "api_key":
        return check_key(str(value))
    if name == "proxy":
        Proxies.of(str(value), {})
    if kind == "text" and any(sign in str(value) for sign in "\0\r\n"):
        raise UsageError(f"{name} must be one line")
    # Read later from other folders than the one in which it was typed.
    return str(Path(str(value)).expanduser().absolute()) if name == "cacert" else value


def _readable(name: str, text: str) -> str:
    """`text` as UTF-8, also where the locale could not tell what was typed."""
    try:
        return os.fsencode(text).decode("utf-8") if any("\udc80" <= sign <= "\udcff" for sign in text) else text
    except UnicodeError:
        raise UsageError(f"{name} is not text in UTF-8") from None


def typed(name: str, text: str) -> object:
    """The value of a key that was typed as text. Raises `UsageError` for an unknown key, and for text that is no value of its kind."""
    if name not in KEYS:
        raise UsageError(f"there is no key {name!r}; the keys are {', '.join(KEYS)}")
    kind = KEYS[name].kind
    if kind == "text":
        return text
    try:
        return {"true": True, "false": False}[text.lower()] if kind == "switch" else (float if kind == "seconds" else int)(text)
    except (KeyError, ValueError):
        raise UsageError(f"{name} must be {configfile.wanted(kind)}") from None


def _made(table: Document, name: str) -> Document:
    if name not in table:
        table[name] = {}
    inner: Document = table[name]
    return inner


def _edit(path: Path, change: Callable[[Document], None]) -> Path:
    """Make the same `change` to the text and to what it means; written only if both come to the same."""
    file = configfile.read(path)
    meant = configfile.parse(file.text, path)
    change(meant)
    try:
        document = tomlkit.parse(file.text)
        change(document)
        text = tomlkit.dumps(document)
    except Exception:  # noqa: BLE001 - the editor of TOML stumbles over some valid texts; the reader has found nothing wrong with this one
        raise _not_editable(path) from None
    if not _same(configfile.parse(text, path), meant):
        raise _not_editable(path)
    try:
        _replace(Path(os.path.realpath(path)), text.encode("utf-8"))
    except OSError as error:
        raise LocalError(f"configuration file {path} cannot be written: {error.strerror or error}") from None
    return path


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Equal, `nan` included; whether there is a table `[profile]` with nothing in it does not matter."""
    first, second = ({key: value for key, value in document.items() if value != {} or key != "profile"} for document in (one, other))
    return _ordered(first) == _ordered(second)


def _ordered(value: object) -> object:
    """A value whose equality is that of its texts, in whatever order tables are written."""
    if isinstance(value, dict):
        return sorted((key, _ordered(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return [_ordered(inner) for inner in value]
    return type(value).__name__, repr(value)


def _not_editable(path: Path) -> ConfigError:
    return ConfigError(f"{path}: the configuration file is written in a way that cannot be changed safely; change it by hand")


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
