"""Is what was downloaded still what it was? Every file that the journal of an output directory promises is read again."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from benchloop_client.actions.task_manifest import metadata_file, trajectory_file
from benchloop_client.errors import LocalError
from benchloop_client.transfer import files
from benchloop_client.transfer.journal import FOLDER, Entry, Journal
from benchloop_client.transfer.stages import spread

State = Literal["ok", "changed", "missing", "failed", "incomplete", "placeholder", "not promised"]
#: What is not as it should be.
BAD: frozenset[State] = frozenset({"changed", "missing", "failed", "incomplete"})
_THREADS = 4
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One file. `bytes`: what is there now, None for nothing; `why`: a few words where it is not ok. `entry`: its line in the journal."""

    path: str
    state: State
    bytes: int | None = None
    why: str = ""
    entry: Entry | None = None

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {"path": self.path, "state": self.state, "bytes": self.bytes, "why": self.why or None}


def examine(root: Path) -> Iterator[Finding]:
    """Every file that is promised, in the order in which they were written, then those that are not. Nothing is written.

    `ok`; `changed`: of another length or content; `missing`; `failed`: it could not be fetched; `incomplete`: a ZIP that lacks jobs;
    `placeholder`: the documented empty archive stands for one that the server does not have; `not promised`: nobody knows it. A ZIP of a
    download task that nobody knows is held against its own manifest. Raises `LocalError` for a directory without a journal.
    """
    with Journal(root, read_only=True) as journal:
        known = len(journal) > 0
        yield from spread(journal.entries(), lambda entry: _of_entry(root, entry), threads=_THREADS)
        for path in _others(root, journal):
            found = _of_other(root, path)
            known = known or found.state != "not promised"
            yield found
    if not known:
        raise LocalError(f"nothing was downloaded into {root}: there is no journal in {root / FOLDER}")


def _of_entry(root: Path, entry: Entry) -> Finding:
    path, size = entry.path, _size_of(root / entry.path)
    if entry.status == "failed":
        return Finding(path, "failed", size, entry.error or "it could not be fetched", entry)
    if size is None:
        return Finding(path, "missing", None, "there is no such file", entry)
    if entry.size is not None and size != entry.size:
        return Finding(path, "changed", size, f"{entry.size} bytes were written", entry)
    if not files.has_digest(root / path, sha256=entry.sha256, crc32=entry.crc32):
        return Finding(path, "changed", size, "the content is another one", entry)
    if entry.status == "placeholder":
        return Finding(path, "placeholder", size, "the server had none", entry)
    if entry.status == "missing":
        return Finding(path, "incomplete", size, "not all jobs could be fetched; see its manifest.json", entry)
    return Finding(path, "ok", size, entry=entry)


def _others(root: Path, journal: Journal) -> Iterator[str]:
    """The files that the journal does not know, without hidden parts."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != FOLDER and not name.endswith(".parts"))
        for name in sorted(names):
            path = Path(folder, name).relative_to(root).as_posix()
            if journal.get(path) is None and not (name.startswith(".") and name.endswith(".part")):
                yield path


def _of_other(root: Path, path: str) -> Finding:
    size = _size_of(root / path)
    if not path.endswith(".zip") or size is None:
        return Finding(path, "not promised", size)
    try:
        why = _fault_of_zip(root / path)
    except _NoManifest:
        return Finding(path, "not promised", size)
    return Finding(path, "changed" if why else "ok", size, why or "as its own manifest says")


class _NoManifest(Exception):
    """The ZIP is none of ours."""


def _fault_of_zip(path: Path) -> str:
    """What is wrong with a ZIP by its own manifest and its own checksums, nothing if it is whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            manifest = _manifest(archive)
            folder, name_of = ("trajectories", trajectory_file) if "source_failures" in manifest else ("metadata", metadata_file)
            lacking = [job for job in manifest["success_job_ids"] if f"{folder}/{name_of(job)}" not in names]
            if lacking:
                return f"{len(lacking)} job(s) of its manifest are not in it"
            for info in archive.infolist():
                with archive.open(info) as entry:
                    while entry.read(_CHUNK):
                        pass
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
        return "the ZIP is damaged"
    return ""


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        manifest = msgspec.json.decode(archive.read("manifest.json"))
    except (KeyError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _NoManifest from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("success_job_ids"), list):
        raise _NoManifest
    return manifest


def _size_of(path: Path) -> int | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
