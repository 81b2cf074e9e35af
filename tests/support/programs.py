"""The installed programs, run from outside with an environment of their own and a limit on every wait."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from benchloop_server import settings, wiring
from benchloop_server.features.accounts import service as accounts

_BIN = Path(sys.executable).parent
#: A canary: nothing that a program prints or writes may hold it.
CANARY = "sk-CANARY-9f3b27c1e5"
#: Runs a program with its streams in two files, writes its peak resident memory (KiB) into a third, and ends as it ended.
_LAUNCHER = """
import os, sys
out, err, peak, *program = sys.argv[1:]
files = [(os.POSIX_SPAWN_OPEN, n, name, os.O_WRONLY | os.O_CREAT, 0o600) for n, name in ((1, out), (2, err))]
pid, status, usage = os.wait4(os.posix_spawn(program[0], program, os.environ, file_actions=files), 0)
open(peak, "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""
_LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")


@dataclass(frozen=True, slots=True)
class Result:
    """What a program left behind: exit code, both streams, seconds on the clock, and its peak resident memory in bytes."""

    code: int
    out: str
    err: str
    seconds: float = 0.0
    peak_bytes: int = 0

    @property
    def json(self) -> Any:
        """stdout as JSON."""
        return json.loads(self.out)

    def __str__(self) -> str:
        return f"exit {self.code} after {self.seconds:.1f} s\n--- stdout\n{self.out[-3000:]}\n--- stderr\n{self.err[-3000:]}"


@dataclass(frozen=True, slots=True)
class Bl:
    """How to run `bl`: whom it talks to, with which key, in which home folder.

    `program` may be another variant of the client (`BENCHLOOP_TEST_BL`), to see that a test fails on one that has the fault.
    """

    home: Path
    host: str | None = None
    key: str | None = CANARY
    program: str = field(default_factory=lambda: os.environ.get("BENCHLOOP_TEST_BL") or str(_BIN / "bl"))

    def env(self, **more: str) -> dict[str, str]:
        """The whole environment of the program; nothing is inherited but what a process needs to start."""
        named = {"BENCHLOOP_API_KEY": self.key, "BENCHLOOP_HOST": self.host, "NO_PROXY": "*"}
        home = {"HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / "cache"), "XDG_CONFIG_HOME": str(self.home / "config")}
        # Tests of the look for a newer version take the last one back.
        base = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "BENCHLOOP_NO_UPDATE_CHECK": "1"}
        return {**base, **home, **{name: value for name, value in named.items() if value is not None}, **more}

    def start(self, *args: str, cwd: Path | None = None, **env: str) -> subprocess.Popen[str]:
        """The program running, in a session of its own, with pipes on all three streams."""
        return subprocess.Popen(
            [self.program, *args],
            cwd=cwd or self.home,
            env=self.env(**env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )

    def __call__(self, *args: str, stdin: str = "", cwd: Path | None = None, timeout: float = 60, **env: str) -> Result:
        """Run to the end. Raises `AssertionError` if that takes longer than `timeout` seconds."""
        began = time.monotonic()
        process = self.start(*args, cwd=cwd, **env)
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            out, err = finish(process)
            raise AssertionError(f"bl {' '.join(args)} did not end in {timeout} s\n{out[-2000:]}\n{err[-2000:]}") from None
        return Result(process.returncode, out, err, time.monotonic() - began)

    def measured(self, *args: str, timeout: float = 120, **env: str) -> Result:
        """Run to the end with both streams in files, and say how much memory it took at its peak."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / name for name in ("out", "err", "peak")]
            # The peak of a child counts what its parent had when it was started: a small process in between keeps ours out of it.
            launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, *map(str, paths), self.program, *args]
            process = subprocess.Popen(launcher, cwd=self.home, env=self.env(**env), stdin=subprocess.DEVNULL, start_new_session=True)
            _ended(process, timeout)
            out, err, peak = (path.read_text("utf-8", "replace") for path in paths)
        return Result(process.returncode, out, err, time.monotonic() - began, int(peak) * 1024)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a program of ours for good and take what it had printed."""
    with suppress(ProcessLookupError):
        process.kill()
    return process.communicate(timeout=10)


def interrupt(process: subprocess.Popen[str], timeout: float = 10) -> tuple[Result, float]:
    """Send SIGINT as Ctrl-C does and wait; the second value is the seconds from the signal to the end."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        out, err = finish(process)
    took = time.monotonic() - began
    return Result(process.returncode, out, err, took), took


def wait_for(condition: Any, timeout: float = 20, what: str = "the condition") -> None:
    """Wait until `condition()` is true, at most `timeout` seconds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"{what} did not come about in {timeout} s"
        time.sleep(0.01)


class Server:
    """A real `benchloop-server` on a free port over a data folder; `stop`, `kill` and `start` again as a test needs."""

    def __init__(self, data: Path, *options: str, **environ: str) -> None:
        self.data = data
        self.options = options
        self.environ = environ
        self.origin = ""
        self.log: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The process of the program that was started."""
        assert self._process is not None
        return self._process.pid

    @property
    def port(self) -> str:
        """The port it listens on."""
        return self.origin.rsplit(":", 1)[-1]

    def start(self, port: str = "0", timeout: float = 40) -> Server:
        """Start and wait for the line that says where it listens."""
        command = [str(_BIN / "benchloop-server"), "serve", "--data", str(self.data), "--port", port, *self.options]
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
        if not heard.wait(timeout):
            self.kill()
            raise AssertionError(f"the server did not listen in {timeout} s:\n{''.join(self.log[-40:])}")
        return self

    def _listen(self, stream: IO[str], heard: threading.Event) -> None:
        for line in stream:
            self.log.append(line)
            found = _LISTENING.search(line)
            if found and not heard.is_set():
                self.origin = found.group(1)
                heard.set()
        stream.close()

    def _env(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.data.parent), "LANG": "C.UTF-8", **self.environ}

    def key(self, name: str = "test", *, workspace: str = "default") -> str:
        """A fresh key, made in the database beside the server; `key_of_command` is the way of an operator, who waits longer."""
        places = dict(zip(self.options, self.options[1:], strict=False))
        database = wiring.open_database(settings.load({}, data=self.data, database=places.get("--database")))
        try:
            key, _ = accounts.create_key(database, name, workspace=workspace)
        finally:
            database.close()
        return key

    def key_of_command(self, *options: str) -> str:
        """A fresh key as `benchloop-server key create` prints it."""
        command = [str(_BIN / "benchloop-server"), "key", "create", "--name", "test", "--data", str(self.data), *options]
        made = subprocess.run(command, env=self._env(), capture_output=True, text=True, timeout=60)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def bl(self, home: Path, key: str | None = None) -> Bl:
        """A client of this server with a key of its own."""
        home.mkdir(parents=True, exist_ok=True)
        return Bl(home, self.origin, key or self.key(), program=str(_BIN / "bl"))

    def peak_bytes(self) -> int:
        """The largest resident memory so far of the server's process."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024

    def stop(self) -> None:
        """Ask it to end and wait; kill it where it does not."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut does."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(15)
        self._process = None


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def serving(data: Path, *options: str, **environ: str) -> Iterator[Server]:
    """A real server for the length of a `with` block; `environ` are variables that it sees beside the usual ones."""
    server = Server(data, *options, **environ)
    try:
        yield server.start()
    finally:
        server.stop()


def files_below(root: Path, *, hidden: bool = False) -> dict[str, bytes]:
    """Every file below `root` by its relative path; `.benchloop/` is left out unless `hidden`."""
    found = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if hidden or ".benchloop" not in name.split("/")}


def leftovers(root: Path) -> list[str]:
    """What an interrupted run must not leave: part files and temporary folders."""
    return [
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.name.endswith((".part", ".tmp")) or "-trajectories-" in path.name
    ]


def journal(root: Path) -> list[dict[str, Any]]:
    """What the journal below an output root says about files, line by line."""
    path = root / ".benchloop" / "journal.jsonl"
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return [line for line in found if "path" in line]


def _ended(process: subprocess.Popen[bytes], timeout: float) -> None:
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        raise AssertionError(f"{process.args!r} did not end in {timeout} s") from None


def canary_in(*texts: str | bytes, canary: str = CANARY) -> Sequence[str]:
    """In which disguise the key shows up in any of these: as it is, percent-encoded or in base64."""
    forms = {"plain": canary, "hex": canary.encode().hex()}
    whole = "\n".join(text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts)
    return [name for name, form in forms.items() if form in whole]
