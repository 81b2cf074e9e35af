"""The way to a file below the output directory, and its name until it is whole: what every small file needs, in few system calls."""

# For each of a hundred thousand files `Path` objects cost more than the system calls themselves (measured).
# ruff: noqa: PTH102, PTH103, PTH105, PTH108, PTH112, PTH114, PTH118

from __future__ import annotations

import errno
import itertools
import os
import time
from pathlib import Path

from benchloop_client.errors import LocalError
from benchloop_client.transfer import owners

_NAME_LIMIT = 255
_numbers = itertools.count()

#: (root, folder) that were made or looked at, and when, by the monotonic clock; believed for so many seconds.
_known: dict[tuple[str, str], float] = {}
_KNOWN_FOR, _KNOWN_MOST = 1.0, 4096


def located(target: Path, root: Path) -> tuple[str, str]:
    """The folder of `target`, made if need be, and its name in it. A folder that was made or looked at a moment ago is not followed from
    the root again.

    Raises `LocalError` for a target outside `root`, also through a link, and `OSError`.
    """
    if target.is_absolute() and not target.is_relative_to(root):
        raise LocalError(f"{target} would lie outside the output directory {root}")
    *folders, name = (target.relative_to(root) if target.is_absolute() else target).parts or ("..",)
    if name == ".." or ".." in folders:
        raise LocalError(f"{target} would lie outside the output directory {root}")
    base = folder = str(root)
    _know(base, base, parents=True)
    for part in folders:
        folder = os.path.join(folder, part)
        _know(folder, base)
    return folder, name


def _know(folder: str, root: str, *, parents: bool = False) -> None:
    now = time.monotonic()
    if now - _known.get((root, folder), -_KNOWN_FOR) < _KNOWN_FOR:
        return
    if len(_known) > _KNOWN_MOST:
        _known.clear()
    try:
        if parents:
            os.makedirs(folder, exist_ok=True)
        else:
            os.mkdir(folder)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, "a file has the name of a folder that is needed") from None
        # A folder inside one that is known can only lead elsewhere as a link.
        if os.path.islink(folder) and not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root)):
            raise LocalError(f"{folder} leads out of the output directory {root} through a link") from None
    _known[root, folder] = now


def forget() -> None:
    """Look at every folder again."""
    _known.clear()


def part_name(name: str, mark: str | None = None) -> str:
    """What a file is called until it is whole; `mark`: 12 hex digits that no other part has, by default some that begin with `mine`."""
    suffix = f".{mark or f'{mine()}{next(_numbers) & 0xFFFF:04x}'}.part"
    kept = name.encode("utf-8", "surrogateescape")[: _NAME_LIMIT - len(suffix) - 1].decode("utf-8", "ignore")
    return f".{kept}{suffix}"


def mine() -> str:
    """Eight hex digits by which the part files of this process are known once it is dead."""
    return owners.token(owners.me())


def rename(part: str, path: str) -> None:
    """Give a part file its name. Raises `OSError`."""
    os.replace(part, path)


def remove(part: str) -> None:
    """Remove a part file if that is possible."""
    try:
        os.unlink(part)
    except OSError:
        return
