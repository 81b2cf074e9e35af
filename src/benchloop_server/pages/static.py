"""The files that pages load: ours from this package, plotly's from its own, under addresses that change with their content."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_PLOTLY = "plotly/package_data/plotly.min.js"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: its bytes as they are and as gzip."""

    content: bytes
    packed: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """Name → our own files."""
    return {path.name: _asset(path.read_bytes(), path.suffix) for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}


@cache
def version() -> str:
    """Another word for other content of any of our files."""
    found = hashlib.sha256()
    for name, asset in assets().items():
        found.update(b"%s\0%s\0" % (name.encode(), asset.content))
    return found.hexdigest()[:12]


def static_url(name: str) -> str:
    """The address of one of our files. Raises `KeyError` for a name that is none."""
    if name not in assets():
        raise KeyError(name)
    return f"/static/{version()}/{name}"


@cache
def plotly_url() -> str:
    """The address of plotly's script."""
    return f"/static/plotly-{metadata.version('plotly')}/plotly.min.js"


@cache
def plotly() -> Asset:
    """The script of the installed plotly."""
    return _asset(Path(str(metadata.distribution("plotly").locate_file(_PLOTLY))).read_bytes(), ".js")


def find(folder: str, name: str) -> Asset | None:
    """The file at `/static/<folder>/<name>`; None when there is none."""
    if f"/static/{folder}/{name}" == plotly_url():
        return plotly()
    return assets().get(name) if folder == version() else None


def _asset(content: bytes, suffix: str) -> Asset:
    return Asset(content, gzip.compress(content, 6, mtime=0), _TYPES[suffix])
