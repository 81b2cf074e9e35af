"""Which reader reads a path: the one asked for, or the first that knows it."""

from __future__ import annotations

from pathlib import Path

from benchloop_client.formats.atif import is_atif, open_atif
from benchloop_client.formats.harbor.layout import find_jobs
from benchloop_client.formats.harbor.reader import open_harbor
from benchloop_client.formats.records import ReadOptions, Run, UnreadableRun
from benchloop_client.formats.tau import is_tau, open_tau

FORMATS = ("auto", "harbor", "atif", "tau")
_READERS = {"harbor": open_harbor, "atif": open_atif, "tau": open_tau}


def open_run(path: Path, *, format: str = "auto", options: ReadOptions | None = None) -> Run:  # noqa: A002 - the command's option is called so
    """The run at `path`. Cheap: trials and documents are read only when a group's `jobs()` is walked.

    Raises `UnreadableRun` with one sentence when nothing is there, no reader knows it, or the format asked for does not fit.
    """
    options = options or ReadOptions()
    if format not in FORMATS:
        raise UnreadableRun(f"there is no reader called {format!r}; there are {', '.join(FORMATS)}")
    if not path.exists():
        raise UnreadableRun(f"{path} does not exist")
    name = detect(path) if format == "auto" else format
    if name == "tau" and path.is_dir():
        path = _only_list(path)
    return _READERS[name](path, options)


def detect(path: Path) -> str:
    """The name of the format at `path`: harbor, atif or tau. Raises `UnreadableRun` when it is none of them."""
    if path.is_dir():
        if next(find_jobs(path), None) is not None:
            return "harbor"
        if _lists(path):
            return "tau"
        if any(is_atif(place) for place in sorted(path.rglob("*.json"))):
            return "atif"
        raise UnreadableRun(f"{path} holds no Harbor job, no tau-bench result list and no ATIF document")
    if is_tau(path):
        return "tau"
    return "atif" if path.suffix == ".json" else _unknown(path)


def _unknown(path: Path) -> str:
    raise UnreadableRun(f"{path} is neither a run directory nor a JSON file of a known format")


def _lists(path: Path) -> list[Path]:
    return [place for place in sorted(path.rglob("*.json")) if is_tau(place)]


def _only_list(path: Path) -> Path:
    found = _lists(path)
    if len(found) == 1:
        return found[0]
    names = ", ".join(place.name for place in found[:5]) or "none"
    raise UnreadableRun(f"{path} should hold one tau-bench result list, give the file itself; found: {names}")
