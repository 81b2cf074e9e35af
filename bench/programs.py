"""Runs commands and says what each took: wall, CPU and memory of the whole tree of processes. Linux only: it reads /proc."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from bench.ratios import Sample

BIN = Path(sys.executable).parent
_TICKS = os.sysconf("SC_CLK_TCK")
_POLL = 0.02
_LONGEST = 3600.0
#: A server counts as idle when it took less than this part of one CPU for so many seconds, twice.
_IDLE, _LOOK = 0.05, 2.0
_LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")
#: A process of its own between us and the command: a child's peak counts what its parent held when it was forked, and the clock starts
#: when the command does, not when Python is up.
_LAUNCHER = """
import json, os, sys, time
report, *command = sys.argv[1:]
began = time.perf_counter()
pid, status, usage = os.wait4(os.posix_spawn(command[0], command, os.environ), 0)
wall = time.perf_counter() - began
with open(report, "w") as file:
    json.dump({"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024}, file)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""


class Failed(Exception):
    """A command that did not end well; the message holds the end of what it said."""


def missing(*tools: str) -> list[str]:
    """Those of the tools that are not installed."""
    return [tool for tool in tools if shutil.which(tool) is None]


def version_of(tool: str) -> str:
    """What the tool says of its version."""
    said = subprocess.run([tool, "-v" if tool == "zip" else "--version"], capture_output=True, text=True, check=False, timeout=20).stdout
    found = re.search(r"\d+\.\d+(\.\d+)?", said)
    return f"{tool} {found.group()}" if found else tool


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs one line of `sh` at a time. `env` is the whole environment, `folder` where it runs."""

    folder: Path
    env: Mapping[str, str]

    def __call__(self, line: str, server: Server | None = None) -> Sample:
        """Run it to the end. Raises `Failed` for an exit code other than 0 or when it takes longer than an hour."""
        if server is not None:
            server.reset_peak()
        before = server.cpu() if server is not None else 0.0
        with tempfile.TemporaryDirectory() as scratch:
            report, said = Path(scratch) / "report", Path(scratch) / "said"
            command = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(report), "/bin/sh", "-c", f"set -e; {line}"]
            with said.open("wb") as out:
                process = subprocess.Popen(
                    command, cwd=self.folder, env=dict(self.env), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
                )
                try:
                    peak = _watched(process)
                finally:
                    _end(process)
            if process.returncode:
                raise Failed(f"{line[:200]} ended with {process.returncode}: …{said.read_text('utf-8', 'replace')[-1000:]}")
            took = json.loads(report.read_text("ascii"))
        sample = Sample(took["wall"], took["cpu"], max(peak, took["peak"]))
        return sample if server is None else replace(sample, server_cpu=server.cpu() - before, server_peak=server.peak())


def quoted(*words: str | Path) -> str:
    """The words as one command of a shell line."""
    return shlex.join(str(word) for word in words)


def _watched(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end; the largest sum of resident memory below the process seen meanwhile."""
    peak = 0
    end = time.monotonic() + _LONGEST
    while process.poll() is None:
        peak = max(peak, sum(_resident(pid) for pid in _below(process.pid)))
        if time.monotonic() > end:
            _end(process)
        time.sleep(_POLL)
    return peak


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing of a command behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(20)


def _below(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text("ascii").split():
                yield int(child)
                yield from _below(int(child))


def _resident(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


class Server:
    """A `benchloop-server` of our own on a free loopback port; use it with `with`."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.origin = ""
        self._said: list[str] = []

    def __enter__(self) -> Server:
        command = [str(BIN / "benchloop-server"), "serve", "--data", str(self.data), "--port", "0"]
        self._process = subprocess.Popen(
            command,
            env=self._env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        heard = threading.Event()
        assert self._process.stdout is not None
        threading.Thread(target=self._listen, args=(self._process.stdout, heard), daemon=True).start()
        if not heard.wait(60):
            self.__exit__()
            raise Failed(f"the server does not listen: {''.join(self._said[-20:])}")
        return self

    def __exit__(self, *_: object) -> None:
        for how in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, how)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
                return

    def key(self) -> str:
        """A fresh key."""
        command = [str(BIN / "benchloop-server"), "key", "create", "--name", "bench", "--data", str(self.data)]
        return subprocess.run(command, env=self._env(), capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    def settle(self, seconds: float = 600) -> bool:
        """Wait until the work that a push leaves behind is done, so that it is not measured with what comes; False if that takes longer."""
        end, quiet, before = time.monotonic() + seconds, 0, self.cpu()
        while quiet < 2:
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK)
            now = self.cpu()
            quiet, before = (quiet + 1 if now - before < _IDLE * _LOOK else 0), now
        return True

    def cpu(self) -> float:
        """Seconds of CPU so far, of the server and of its processes that are there."""
        return sum(_cpu(pid) for pid in self._pids())

    def peak(self) -> int:
        """Peak resident bytes since `reset_peak`, all of its processes added up."""
        return sum(_status(pid, "VmHWM") for pid in self._pids())

    def reset_peak(self) -> None:
        """Begin to measure the peak anew."""
        for pid in self._pids():
            with suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5", "ascii")

    def _pids(self) -> list[int]:
        return [self._process.pid, *_below(self._process.pid)]

    def _env(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.data.parent), "LANG": "C.UTF-8"}

    def _listen(self, stream: IO[str], heard: threading.Event) -> None:
        for line in stream:
            del self._said[:-50]
            self._said.append(line)
            found = _LISTENING.search(line)
            if found and not heard.is_set():
                self.origin = found.group(1)
                heard.set()
        stream.close()


def _cpu(pid: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    return 0.0


def _status(pid: int, name: str) -> int:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith(name))) * 1024
    return 0


def client_env(home: Path, origin: str, key: str) -> dict[str, str]:
    """The whole environment of `bl`."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": f"{BIN}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_PROXY": "*",
        "BENCHLOOP_HOST": origin,
        "BENCHLOOP_API_KEY": key,
        "BENCHLOOP_NO_UPDATE_CHECK": "1",
    }
