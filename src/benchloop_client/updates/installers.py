"""Which package index the user's installer asks: told by pip's and uv's variables and files, else by the installed pip itself."""

from __future__ import annotations

import base64
import configparser
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from benchloop_client.addresses import Origin

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

_NAMED = re.compile(r"[\w.-]+=(?=https?:)")
_TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})
#: What an installer says that is not to ask any index.
_NONE = ""


@dataclass(frozen=True, slots=True)
class Index:
    """A simple index: its address without credentials and with a slash at the end, and the header that carries the credentials."""

    url: str
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str) -> Index | None:
        """The index at `url`; None for what is no http(s) address, and for credentials that would travel in clear text."""
        try:
            parts = urlsplit(url.strip())
            origin = Origin.of(url.strip())
        except ValueError:
            return None
        header = None
        if parts.username is not None:
            if origin.scheme == "http" and not origin.loopback:
                return None
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            header = f"Basic {base64.b64encode(pair.encode()).decode()}"
        bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
        return cls(bare if bare.endswith("/") else f"{bare}/", header)


@dataclass(frozen=True, slots=True)
class Place:
    """What decides where installers look: their variables, the home folder, the folder of this environment, and the system's name."""

    variables: Mapping[str, str]
    home: Path
    prefix: Path
    system: str = sys.platform
    #: The program that put us here (`INSTALLER`): its own settings are asked first.
    installer: str = "pip"


def configured(place: Place) -> Index | None:
    """The index that the installer is configured with; None if there is none, or it may not be asked.

    Files of the working directory are not read: whoever wrote them is not known.
    """
    sources = (_of_uv, _of_pip) if place.installer == "uv" else (_of_pip, _of_uv)
    for source in sources:
        found = source(place)
        if found is not None:
            return Index.of(found)
    default = _default_of_pip()
    return Index.of(default) if default else None


def _of_pip(place: Place) -> str | None:
    """What pip is told, by variable, else by file (a later one wins); `_NONE` if it shall not use an index."""
    variables = place.variables
    if variables.get("PIP_NO_INDEX", "").lower() in _TRUE:
        return _NONE
    if variables.get("PIP_INDEX_URL"):
        return variables["PIP_INDEX_URL"]
    found = None
    for path in _files_of_pip(place):
        said = _read_pip(path)
        found = said if said is not None else found
    return found


def _files_of_pip(place: Place) -> Iterator[Path]:
    """Global, user, site, and the file that a variable names: the order in which pip reads them."""
    given = place.variables.get("PIP_CONFIG_FILE")
    if given in {"/dev/null", "nul", "NUL"}:
        return
    name = "pip.ini" if place.system == "win32" else "pip.conf"
    yield from (folder / name for folder in _shared_folders(place, "pip"))
    yield place.home / ("pip" if place.system == "win32" else ".pip") / name
    yield from (folder / name for folder in _user_folders(place, "pip"))
    yield place.prefix / name
    if given:
        yield Path(given).expanduser()


def _read_pip(path: Path) -> str | None:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text("utf-8", errors="replace"))
    except (OSError, configparser.Error):
        return None
    found = None
    for section in ("global", "install"):
        values = {name.replace("_", "-"): value for name, value in (parser.items(section) if parser.has_section(section) else ())}
        if (values.get("no-index") or "").strip().lower() in _TRUE:
            return _NONE
        found = (values.get("index-url") or "").strip() or found
    return found


def _of_uv(place: Place) -> str | None:
    """What uv is told, by variable, else by the first file that says something; `_NONE` if it shall not use an index."""
    variables = place.variables
    if variables.get("UV_NO_INDEX", "").lower() in _TRUE:
        return _NONE
    named = variables.get("UV_DEFAULT_INDEX") or variables.get("UV_INDEX_URL")
    if named:
        return _NAMED.sub("", named.strip(), count=1)
    for path in _files_of_uv(place):
        found = _read_uv(path)
        if found is not None:
            return found
    more = variables.get("UV_INDEX", "").split()
    return _NAMED.sub("", more[0], count=1) if more else None


def _files_of_uv(place: Place) -> Iterable[Path]:
    if place.variables.get("UV_NO_CONFIG", "").lower() in _TRUE:
        return ()
    given = place.variables.get("UV_CONFIG_FILE")
    if given:
        return (Path(given).expanduser(),)
    return (folder / "uv.toml" for folder in (*_user_folders(place, "uv"), *_shared_folders(place, "uv")))


def _read_uv(path: Path) -> str | None:
    try:
        document: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None
    inner = document.get("pip")
    for table in (document, inner if isinstance(inner, dict) else {}):
        if table.get("no-index") is True:
            return _NONE
        found = _index_in(table)
        if found is not None:
            return found
    return None


def _index_in(table: Mapping[str, Any]) -> str | None:
    rows = table.get("index")
    listed = [row for row in rows if isinstance(row, dict) and isinstance(row.get("url"), str)] if isinstance(rows, list) else []
    default = [row["url"] for row in listed if row.get("default") is True]
    named = [table["index-url"]] if isinstance(table.get("index-url"), str) else []
    others = [row["url"] for row in listed if row.get("explicit") is not True]
    return next(iter((*default, *named, *others)), None)


def _user_folders(place: Place, tool: str) -> Iterator[Path]:
    if place.system == "win32":
        if place.variables.get("APPDATA"):
            yield Path(place.variables["APPDATA"]) / tool
        return
    config = place.variables.get("XDG_CONFIG_HOME")
    yield (Path(config).expanduser() if config else place.home / ".config") / tool
    if place.system == "darwin":
        yield place.home / "Library" / "Application Support" / tool


def _shared_folders(place: Place, tool: str) -> Iterator[Path]:
    if place.system == "win32":
        if place.variables.get("PROGRAMDATA"):
            yield Path(place.variables["PROGRAMDATA"]) / tool
        return
    if place.system == "darwin":
        yield Path("/Library/Application Support") / tool
    folders = place.variables.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    yield from (Path(folder) / tool for folder in folders.split(":") if folder)
    # pip has its global file right in /etc, uv a folder of its own there.
    yield Path("/etc") if tool == "pip" else Path("/etc") / tool


def _default_of_pip() -> str | None:
    """What the installed pip asks when nobody tells it otherwise; None without pip, or with one of another shape."""
    try:
        module = importlib.import_module("pip._internal.models.index")
        found = module.PyPI.simple_url
    except Exception:  # noqa: BLE001 - pip's inside is not ours: whatever it does, there is only no check
        return None
    return found if isinstance(found, str) else None
