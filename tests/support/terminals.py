"""Terminals for programs under test: a real one in tmux, to see what a person sees, and a bare pseudo-terminal, to see every byte."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import shutil
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.programs import Bl

TMUX = shutil.which("tmux")


class Screen:
    """A window of a tmux server of the test's own."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def lines(self) -> list[str]:
        """What is on the screen, without the empty lines below."""
        shown = self._tmux("capture-pane", "-p").stdout.rstrip("\n")
        return shown.split("\n") if shown else []

    def start(self, command: str, *, columns: int, rows: int, env: dict[str, str], cwd: Path) -> None:
        """Open the window and run a shell command in it."""
        clean = shlex.join(["env", "-i", *(f"{name}={value}" for name, value in env.items()), "sh", "-c", command])
        made = self._tmux("-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(cwd), clean)
        assert made.returncode == 0, made.stderr

    def end(self) -> None:
        """End the tmux server and what still runs in it."""
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        assert TMUX is not None
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self._socket.parent), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        return subprocess.run(
            [TMUX, "-u", "-S", str(self._socket), *arguments], env=env, capture_output=True, text=True, encoding="utf-8", timeout=20
        )


@contextmanager
def on_screen(folder: Path, bl: Bl, arguments: Sequence[str], *, columns: int = 100, rows: int = 24) -> Iterator[Screen]:
    """`bl` in a tmux window that stays open after it ended and then shows `exit <code>`."""
    socket = folder / "tmux"
    screen = Screen(socket)
    command = f"{shlex.join([bl.program, *arguments])}; echo exit $?; sleep 60"
    try:
        screen.start(command, columns=columns, rows=rows, env=bl.env(TERM="screen-256color"), cwd=bl.home)
        yield screen
    finally:
        screen.end()


def samples(screen: Screen, *, limit: float = 60, every: float = 0.15) -> list[list[str]]:
    """The screen again and again until the program has ended; the last one is the end. Raises `AssertionError` after `limit` seconds."""
    until = time.monotonic() + limit
    taken: list[list[str]] = []
    while time.monotonic() < until:
        taken.append(screen.lines())
        if taken[-1] and taken[-1][-1].startswith("exit "):
            return taken
        time.sleep(every)
    raise AssertionError(f"the program did not end in {limit} s:\n" + "\n".join(taken[-1]))


def on_pty(command: Sequence[str], env: dict[str, str], cwd: Path, *, columns: int = 80, limit: float = 60) -> tuple[int, str]:
    """Run a program whose stderr is a pseudo-terminal; returns its exit code and every byte it wrote there."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    until = time.monotonic() + limit
    data = b""
    try:
        while time.monotonic() < until:
            ready, _, _ = select.select([master], [], [], 0.2)
            chunk = b""
            if ready:
                with suppress(OSError):  # Linux says EIO when the other end is closed
                    chunk = os.read(master, 65536)
                if not chunk:
                    break
            data += chunk
        return process.wait(max(0.1, until - time.monotonic())), data.decode("utf-8", "replace")
    finally:
        process.kill()
        process.wait(10)
        os.close(master)
