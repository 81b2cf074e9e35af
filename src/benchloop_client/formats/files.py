"""Which files of a job go into its archive: an allowlist, excludes and size limits, and never a link that leaves the folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import quote

from benchloop_client.formats.records import ReadOptions, RunFile


@dataclass(slots=True)
class Collected:
    """The files taken, in order of path, and one sentence for each that was left out although nobody asked for it."""

    files: list[RunFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def collect(root: Path, allowed: tuple[str, ...], options: ReadOptions) -> Collected:
    """The regular files under `root` whose first path segment is in `allowed`, within the limits of `options`."""
    found = Collected()
    taken = 0
    for path, entry in _walk(root, allowed, options, found.notes):
        file = _regular_entry(root, entry, path)
        if file is None:
            found.notes.append(f"{path} is a link that leaves the folder, or no regular file")
        elif file.size > options.max_file_bytes:
            found.notes.append(f"{path} has {file.size} bytes, more than the {options.max_file_bytes} allowed for a file")
        elif taken + file.size > options.max_job_bytes or len(found.files) >= options.max_job_files:
            found.notes.append(f"{path} does not fit: a job holds at most {options.max_job_bytes} bytes in {options.max_job_files} files")
        else:
            taken += file.size
            found.files.append(file)
    found.files.sort(key=lambda item: item.path)
    return found


def excluded(path: str, globs: tuple[str, ...]) -> bool:
    """Whether one of the globs names the path, a folder it lies in, or its last segment."""
    if not globs:
        return False
    parts = path.split("/")
    names = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)] + parts
    return any(fnmatchcase(name, pattern.rstrip("/")) for pattern in globs for name in names)


def inside(root: Path, relative: str) -> Path | None:
    """The file that `relative` names under `root`, links followed; None when that is outside `root` or no regular file."""
    place = os.path.join(root, relative)  # noqa: PTH118 - plain text is several times faster here, and this runs for every file
    try:
        if ".." not in relative and not Path(relative).is_absolute():
            mode = _mode_without_links(root, relative)
            if mode is not None:
                return Path(place) if stat.S_ISREG(mode) else None
        target = Path(place).resolve(strict=True)
        if target.is_relative_to(root.resolve()) and target.is_file():
            return target
    except (OSError, RuntimeError, ValueError):
        pass
    return None


def name_below(root: Path, place: Path) -> str:
    """The name of a file that `inside` gave, by which it is found below `root`; `root` may be relative or a link."""
    if place.is_relative_to(root):
        return place.relative_to(root).as_posix()
    return place.resolve().relative_to(root.resolve()).as_posix()


def _mode_without_links(root: Path, relative: str) -> int | None:
    """The mode of a file below `root` if no part of the way to it is a link, else None. Raises `OSError`."""
    place, mode = str(root), 0
    for part in relative.split("/"):
        place = f"{place}{os.sep}{part}"
        mode = os.lstat(place).st_mode
        if stat.S_ISLNK(mode):
            return None
    return mode


def regular(root: Path, place: Path, path: str) -> RunFile | None:
    """The file at `place`; a link is followed only to a regular file inside `root`."""
    try:
        status = place.lstat()
        if stat.S_ISLNK(status.st_mode):
            target = inside(root, str(place.relative_to(root)))
            if target is None:
                return None
            place, status = target, target.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return RunFile(path=path, source=place, size=status.st_size, executable=bool(status.st_mode & stat.S_IXUSR))


def archive_name(relative: str) -> str:
    """A path inside an archive: bytes that are not UTF-8, backslashes and control characters percent-encoded."""
    if relative.isascii() and relative.isprintable() and "\\" not in relative and ":" not in relative[:2]:
        return relative
    shown = []
    for character in relative:
        if 0xDC80 <= ord(character) <= 0xDCFF or character in "\\:" or ord(character) < 32 or ord(character) == 127:
            shown.append(quote(character.encode("utf-8", "surrogateescape"), safe=""))
        else:
            shown.append(character)
    return "".join(shown)


def _regular_entry(root: Path, entry: os.DirEntry[str], path: str) -> RunFile | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return regular(root, Path(entry.path), path)
    return RunFile(path=path, source=Path(entry.path), size=status.st_size, executable=bool(status.st_mode & stat.S_IXUSR))


def _walk(root: Path, allowed: tuple[str, ...], options: ReadOptions, notes: list[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Archive path and place of each candidate; linked folders are not entered."""
    try:
        with os.scandir(root) as entries:
            there = sorted((entry for entry in entries if entry.name in allowed), key=_by_name)
    except OSError as error:
        notes.append(f"the folder cannot be listed: {error.strerror}")
        return
    for entry in there:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, entry.name, options, notes)
        elif not excluded(entry.name, options.exclude):
            yield entry.name, entry


def _below(place: str, folder: str, options: ReadOptions, notes: list[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files of one folder by name, then those of its folders."""
    try:
        with os.scandir(place) as entries:
            listed = sorted(entries, key=_by_name)
    except OSError as error:
        notes.append(f"{archive_name(folder)} cannot be listed: {error.strerror}")
        return
    for entry in listed:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, path, options, notes)
        elif not excluded(archive_name(path), options.exclude):
            yield archive_name(path), entry


def _by_name(entry: os.DirEntry[str]) -> str:
    return entry.name
