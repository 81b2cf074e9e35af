"""Which process made a file: a name for this process that others can read, and whether the process behind such a name still lives."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from functools import cache
from pathlib import Path

#: Where nothing tells whether a process lives, one that wrote within so many seconds counts as alive.
_SILENCE = 600.0


@cache
def _host() -> str:
    return hashlib.blake2b(socket.gethostname().encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()


def _started(pid: int) -> str:
    """When a process started, in the system's own count; "0" where that cannot be seen, "" where there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return "" if Path("/proc/self/stat").exists() else "0"
    except OSError:
        return "0"
    # The name of the program stands in parentheses and may hold anything; the start is the 22nd field.
    return text.rpartition(")")[2].split()[19]


@cache
def _me(pid: int) -> str:
    return f"{pid}-{_started(pid) or '0'}-{_host()}"


def me() -> str:
    """This process as text that can be a part of a file name: `<pid>-<start>-<host>`."""
    return _me(os.getpid())


@cache
def token(owner: str) -> str:
    """Eight hex digits that stand for an owner where a name has little room."""
    return hashlib.blake2b(owner.encode(), digest_size=4).hexdigest()


def lives(owner: str, sign: Path) -> bool:
    """Whether the process that `me` named so still runs. `sign`: a file it writes to, believed where the process itself cannot be looked at
    (another machine, a system without signals). Text that is no owner counts as dead.
    """
    pid, _, rest = owner.partition("-")
    start, _, host = rest.partition("-")
    if not (pid.isdecimal() and start.isdecimal() and host):
        return False
    if host != _host() or os.name == "nt":
        return owner == me() or _written_lately(sign)
    if start != "0":
        now = _started(int(pid))
        if now != "0":
            return now == start
    return _answers(int(pid))


@cache
def boot() -> str:
    """A name for this run of the machine, empty where there is none: what was written in another one may not have reached the disk."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _written_lately(sign: Path) -> bool:
    try:
        return time.time() - sign.stat().st_mtime < _SILENCE
    except OSError:
        return False
