"""Files under their final names: written beside them, verified, renamed; nothing half-done or outside the output directory appears."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchloop_client.errors import BenchloopError, DiskFull, IntegrityError, LocalError
from benchloop_client.transfer import ways
from benchloop_client.transfer.ways import mine, part_name

__all__ = ["mine", "part_name"]

#: Files from this size on are synced to the disk before they get their name.
SYNCED_SIZE = 8 * 1024 * 1024
#: What the system says where a disk, a quota or a size limit is used up.
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Expect:
    """What the content has to be, as far as it is known: length in bytes, SHA-256 in hex."""

    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A file under its final name. `sha256` is None where no digest was made; `durable`: it was synced to the disk."""

    path: Path
    size: int
    sha256: str | None
    durable: bool = False


def place(target: Path, chunks: Iterable[bytes], *, root: Path, expect: Expect | None = None, fsync: bool = False) -> Placed:
    """Write `chunks` to `target`, which must lie inside `root`, and return what was written. An existing file stays as it is until the new
    one is complete and verified; whatever goes wrong, an interrupt included, no part file is left.

    Raises `IntegrityError` for another length or digest, `LocalError` for a path out of `root` or one that cannot be written, `DiskFull`,
    and whatever `chunks` raises.
    """
    expect = expect or Expect()
    try:
        folder, name = ways.located(target, root)
    except OSError as error:
        raise local_error(error, root / target) from None
    path, part = f"{folder}/{name}", f"{folder}/{part_name(name)}"
    try:
        handle = _created(part, target, root)
        try:
            size, digest = _copy(chunks, handle)
            verify(Path(path), expect, size, digest)
            durable = fsync or size >= SYNCED_SIZE
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        ways.rename(part, path)
        if durable:
            sync_folder(Path(folder))
    except OSError as error:
        ways.remove(part)
        raise local_error(error, Path(path), need=expect.size) from None
    except BaseException:
        ways.remove(part)
        raise
    return Placed(Path(path), size, digest, durable)


def _created(part: str, target: Path, root: Path) -> int:
    try:
        return os.open(part, _NEW, 0o666)
    except FileNotFoundError:
        # Its folder was known, and has been removed since.
        ways.forget()
        ways.located(target, root)
        return os.open(part, _NEW, 0o666)


def place_bytes(target: Path, data: bytes, *, root: Path, fsync: bool = False) -> Placed:
    """`place` for content that is in memory."""
    return place(target, (data,), root=root, expect=Expect(len(data)), fsync=fsync)


def place_json(target: Path, value: Any, *, root: Path, pretty: bool = True, fsync: bool = False) -> Placed:
    """`place` for a value as JSON text, see `json_bytes`."""
    return place_bytes(target, json_bytes(value, pretty=pretty), root=root, fsync=fsync)


def json_bytes(value: Any, *, pretty: bool = True) -> bytes:
    """`value` as UTF-8 JSON with a final line end: two spaces of indentation or none at all, letters outside ASCII as they are. What JSON
    cannot hold stays readable: half an emoji (a lone surrogate) is escaped, NaN and infinities become null.
    """
    try:
        raw = msgspec.json.encode(value)
        return (msgspec.json.format(raw, indent=2) if pretty else raw) + b"\n"
    except (UnicodeEncodeError, ValueError, TypeError, OverflowError, RecursionError):
        return _stdlib_json(value, pretty=pretty)


def reformat_json(raw: bytes, *, pretty: bool = True) -> bytes:
    """JSON text laid out anew without a line end; numbers and order of keys stay untouched. Raises `IntegrityError` if it is not JSON."""
    try:
        return msgspec.json.format(raw, indent=2 if pretty else -1)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return _stdlib_json(json.loads(raw.decode("utf-8", "surrogatepass")), pretty=pretty).rstrip(b"\n")
    except (ValueError, RecursionError):
        raise IntegrityError("the document is not JSON, or nested too deep") from None


def contained(target: Path, *, root: Path) -> Path:
    """`target` (relative: under `root`) if it lies inside `root` once every link on the way is followed, else `LocalError`."""
    target = target if target.is_absolute() else root / target
    if ".." in target.relative_to(root).parts if target.is_relative_to(root) else True:
        raise LocalError(f"{target} would lie outside the output directory {root}")
    real_root = Path(os.path.realpath(root))
    if not Path(os.path.realpath(target.parent)).is_relative_to(real_root):
        raise LocalError(f"{target} leads out of the output directory {root} through a link")
    if target == root or (target.is_dir() and not target.is_symlink()):
        raise LocalError(f"{target} is a directory; a file of that name is to be written")
    return target


def digest_of(path: Path) -> tuple[int, str]:
    """Size and SHA-256 (hex) of a file. Raises `OSError`."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while piece := file.read(_READ):
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def crc32_of(path: Path) -> tuple[int, str]:
    """Size and CRC-32 (8 hex digits) of a file. Raises `OSError`."""
    found = size = 0
    with open(path, "rb") as file:
        while piece := file.read(_READ):
            found = zlib.crc32(piece, found)
            size += len(piece)
    return size, f"{found:08x}"


def has_digest(path: Path, *, sha256: str | None = None, crc32: str | None = None) -> bool:
    """Whether the file is there and has that digest; without one it is not known, and so false."""
    try:
        if sha256 is not None:
            return digest_of(path)[1] == sha256
        return crc32 is not None and crc32_of(path)[1] == crc32
    except OSError:
        return False


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable, where the system can."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        # Some network file systems refuse to sync a folder; the rename itself has happened.
        return
    finally:
        os.close(handle)


def _copy(chunks: Iterable[bytes | memoryview], handle: int) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        written = os.write(handle, chunk)
        while written < len(chunk):
            written += os.write(handle, memoryview(chunk)[written:])
    return size, digest.hexdigest()


def verify(target: Path, expect: Expect, size: int, digest: str | None) -> None:
    """Raise `IntegrityError` unless size and digest (None: not known) are what was announced."""
    if expect.size is not None and size != expect.size:
        raise IntegrityError(f"{target.name}: {size} bytes arrived, {expect.size} were announced")
    if expect.sha256 is not None and digest is not None and digest != expect.sha256.lower():
        raise IntegrityError(f"{target.name}: the content does not match its announced SHA-256")


def make_folder(folder: Path, root: Path) -> None:
    """Make `folder` with its parents. Raises `LocalError` if it does not lie inside `root` then, and `OSError`."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    # Once more after making it: a link may have appeared on the way in the meantime.
    if not Path(os.path.realpath(folder)).is_relative_to(Path(os.path.realpath(root))):
        raise LocalError(f"{folder} leads out of the output directory {root} through a link")


def local_error(error: OSError, target: Path, *, need: int | None = None) -> BenchloopError:
    """What a failure of the file system means: `DiskFull` that says what is needed (`need` bytes) and free, else `LocalError`."""
    if error.errno in NO_SPACE:
        wanted = f"{need} bytes" if need is not None else "more space"
        return DiskFull(f"no space left for {target.name}: {wanted} needed, {_free(target.parent)} bytes free in {target.parent}")
    if isinstance(error, IsADirectoryError) or (isinstance(error, PermissionError) and target.is_dir()):
        return LocalError(f"{target} is a directory; a file of that name is to be written")
    return LocalError(f"{target} cannot be written: {error.strerror or error}")


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder if folder.exists() else folder.anchor or ".").free
    except OSError:
        return 0


def _stdlib_json(value: Any, *, pretty: bool) -> bytes:
    layout: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    try:
        text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=msgspec.to_builtins, **layout)
    except RecursionError:
        raise LocalError("the document is nested too deep to be written as JSON") from None
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return value
