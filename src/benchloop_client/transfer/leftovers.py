"""What dead processes left in an output directory: found by marks that living ones keep there, and removed by the next command."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path

from benchloop_client.transfer import owners, states
from benchloop_client.transfer.journal import FOLDER, Journal
from benchloop_client.transfer.resume import Parts
from benchloop_client.transfer.states import Kept

#: A part that nobody went on with for so many seconds is of no use any more.
KEPT_FOR = 7 * 24 * 3600.0
#: A file without its counterpart may belong to a process that is just making it; after so many seconds it does not.
_JUST_MADE = 60.0
_numbers = count()


class Mark:
    """Says, while a process writes below `root`, that it does, and into which entries of it. A process that died has left
    its mark, and by that its part files are found. Safe between threads; a directory that cannot be written to has none.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / FOLDER / "running" / f"{owners.me()}.{next(_numbers)}"
        self._told: set[str] = set()
        self._lock = threading.Lock()
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(exist_ok=False)

    def writes(self, path: str) -> None:
        """A file will be made at `path`, relative to the root."""
        first = path.partition("/")[0] if "/" in path else ""
        if first in self._told:
            return
        with self._lock, suppress(OSError):
            self._told.add(first)
            with open(self._path, "ab", buffering=0) as file:
                file.write(os.fsencode(first) + b"\n")

    def remove(self) -> None:
        """The process has ended its work in an orderly way."""
        with suppress(OSError):
            self._path.unlink()
            self._path.parent.rmdir()


def sweep(root: Path, journal: Journal) -> int:
    """Remove what no living process needs, and say how many files that were: small part files of dead processes, parts whose file was
    finished since, or that nobody went on with for a week.
    """
    removed = sum(_small(root, mark) for mark in _dead_marks(root))
    parts = Parts(root)
    known: set[str] = set()
    for kept in parts.all():
        known |= {kept.head.part, kept.state_file.name}
        if not owners.lives(kept.owner, kept.state_file) and (_finished(kept, journal) or _age(kept.state_file) > KEPT_FOR):
            states.remove(kept)
            removed += 1
    return removed + _odd(parts.folder, known)


def _dead_marks(root: Path) -> Iterator[Path]:
    try:
        marks = sorted((root / FOLDER / "running").iterdir())
    except OSError:
        return
    for mark in marks:
        if not owners.lives(mark.name.partition(".")[0], mark):
            yield mark


def _small(root: Path, mark: Path) -> int:
    """Remove the part files beside their targets of the process that left `mark`, in the folders that it wrote to."""
    ending = owners.token(mark.name.partition(".")[0])
    removed = 0
    try:
        folders = set(mark.read_bytes().split(b"\n")[:-1])
    except OSError:
        return 0
    for first in sorted(folders):
        for path in _files(root, os.fsdecode(first)):
            if path.name.startswith(".") and path.suffix == ".part" and path.name.split(".")[-2].startswith(ending):
                with suppress(OSError):
                    path.unlink()
                    removed += 1
    with suppress(OSError):
        mark.unlink()
    return removed


def _files(root: Path, first: str) -> Iterator[Path]:
    """The files right below the root, or (`first`) all below that entry of it; links are not followed."""
    if not first:
        with suppress(OSError):
            yield from (path for path in root.iterdir() if path.name.endswith(".part"))
        return
    if first in {".", ".."} or os.sep in first or (root / first).is_symlink():
        return
    for folder, _, names in os.walk(root / first):
        yield from (Path(folder, name) for name in names if name.endswith(".part"))


def _finished(kept: Kept, journal: Journal) -> bool:
    """Whether the file was put in its place after the part was last written to."""
    entry = journal.get(kept.head.path)
    if entry is None or entry.status != "done" or entry.source != kept.head.source:
        return False
    try:
        return datetime.fromisoformat(entry.at.replace("Z", "+00:00")).timestamp() > kept.state_file.stat().st_mtime
    except (ValueError, OSError):
        return False


def _odd(folder: Path, known: set[str]) -> int:
    """Remove parts without a state, and states that say nothing."""
    removed = 0
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if path.name not in known and path.suffix in {".part", ".state"} and _age(path) > _JUST_MADE:
                with suppress(OSError):
                    path.unlink()
                    removed += 1
    return removed


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
