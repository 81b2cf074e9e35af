"""This machine's part, as `bl doctor` sees it: the program, the configuration file, and the place for downloads."""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

from benchloop_client.actions.findings import Finding
from benchloop_client.addresses import Proxy
from benchloop_client.configfile import DEFAULT_PROFILE, KEYS, heading
from benchloop_client.contract.version import __version__
from benchloop_client.errors import UsageError
from benchloop_client.settings import Resolved, masked

#: Below this many free bytes a download of any size is in doubt.
LITTLE_SPACE = 1 << 30
_SHARED = stat.S_IRWXG | stat.S_IRWXO
_SHOWN_APART = frozenset({"host", "api_key", "output_dir", "proxy"})


def program() -> Finding:
    """Versions of the program and of what it stands on."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Finding.ok("program", f"bl {__version__} on {python}, {ssl.OPENSSL_VERSION}, {platform.system()} {platform.machine()}")


def file(found: Resolved) -> Finding:
    """The configuration file: is it there, whom does it show the key to, does it hold keys that nothing reads."""
    path = found.file.path
    where = f"{path}" if found.profile == DEFAULT_PROFILE else f"{path} {heading(found.profile)}"
    if not found.file.exists:
        return Finding.ok("config", f"{path} does not exist; flags, variables and defaults count")
    if "api_key" in found.file.text and os.name == "posix" and path.stat().st_mode & _SHARED:
        return Finding.warn("config", f"{where} holds a key and can be read by others on this machine", f"chmod 600 {path}")
    table = found.file.profile(found.profile)
    unknown = [key for key, value in table.items() if key not in KEYS and not isinstance(value, dict)]
    if unknown:
        return Finding.warn("config", f"{where} holds keys that nothing reads: {', '.join(unknown)}", f"the keys are {', '.join(KEYS)}")
    return Finding.ok("config", where)


def values(found: Resolved) -> Iterator[Finding]:
    """Host, key, proxy and whatever else is not the default, each with where it comes from."""
    for name in ("host", "api_key"):
        value = found.values[name]
        if value.value is not None:
            shown = masked(str(value.value)) if name == "api_key" else str(value.value)
            yield Finding.ok(_label(name), f"{shown} (from: {value.source})")
    if found["api_key"] is None:
        yield Finding.warn("key", "no key is set", "bl config set --api-key-prompt, BENCHLOOP_API_KEY or --api-key-stdin")
    for name, value in found.values.items():
        if name not in _SHOWN_APART and value.source != "default":
            yield Finding.ok(name, f"{value.value} (from: {value.source})")


def proxy(address: str | None, source: str) -> Finding:
    """The proxy that requests go through."""
    if address is None:
        return Finding.ok("proxy", "none")
    try:
        return Finding.ok("proxy", f"{Proxy.of(address)} (from: {source})")
    except UsageError as error:
        return Finding.fail("proxy", str(error), "name another with --proxy, or 'none'")


def output(folder: Path, source: str) -> Iterator[Finding]:
    """The download root: can files be made, locked out of each other and renamed there, and how much fits."""
    shown = f"{folder.absolute()} (from: {source})"
    place = _present(folder.absolute())
    if not place.is_dir():
        yield Finding.fail("output", f"{shown}: {place} is not a folder", "choose another one with -o")
        return
    fault = _trial(place)
    if fault:
        yield Finding.fail("output", f"{shown}: {fault}", "make it writable, or choose another one with -o")
    else:
        yield Finding.ok("output", shown if place == folder.absolute() else f"{shown}, will be made")
    yield _space(place)


def _label(name: str) -> str:
    return "key" if name == "api_key" else name


def _present(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _trial(place: Path) -> str | None:
    """Do with a small file what a download does with its part file; the fault in words, None without one."""
    first = place / f".benchloop-doctor.{secrets.token_hex(6)}.part"
    second = first.with_suffix(".done")
    try:
        first.write_bytes(b"")
        try:
            os.close(os.open(first, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            return "two programs can make one file at once there (O_EXCL does not work); run one at a time"
        except FileExistsError:
            first.replace(second)
    except OSError as error:
        return f"no file can be written there ({(error.strerror or str(error)).lower()})"
    finally:
        for path in (first, second):
            path.unlink(missing_ok=True)
    return None


def _space(place: Path) -> Finding:
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        return Finding.warn("disk", f"free space is not known: {error.strerror or error}", "look at it with df")
    text = f"{free / 1e9:.1f} GB free in {place}"
    return Finding.ok("disk", text) if free >= LITTLE_SPACE else Finding.warn("disk", text, "make room before large downloads")
