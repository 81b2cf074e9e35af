"""The two streams: data as UTF-8 bytes on stdout, everything else as prefixed lines on stderr. The only place that writes to either."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import IO, TYPE_CHECKING, TextIO

from benchloop_client.cli import tty
from benchloop_client.cli.lazy import lazy

if TYPE_CHECKING:
    import json

    from benchloop_client.cli import problems
else:
    json = lazy("json")
    problems = lazy("benchloop_client.cli.problems")


class Level(IntEnum):
    """How much is told: errors only, the usual, or everything."""

    QUIET = 0
    USUAL = 1
    VERBOSE = 2


class Output:
    """Where a command's words and data go. Lines may come from several threads."""

    def __init__(self, stdout: IO[bytes] | None, stderr: TextIO | None) -> None:
        """`stdout` takes bytes; either may be None where a process was started without it."""
        self.level = Level.USUAL
        #: Failures are JSON records instead of `[error]` lines.
        self.records = False
        #: False for a terminal that takes text only.
        self.can_redraw = True
        self.redact: Callable[[str], str] = lambda text: text
        self._stdout, self._stderr = stdout, stderr
        self._lock = threading.RLock()
        self._drawn = 0

    @property
    def terminal(self) -> bool:
        """True if stderr is a person's terminal."""
        return tty.is_terminal(self._stderr)

    @property
    def redraws(self) -> bool:
        """True if a line on stderr can be drawn anew."""
        return self.can_redraw and self.level > Level.QUIET and self.terminal and os.name == "posix"

    def columns(self, otherwise: int) -> int:
        """The width of the terminal behind stderr."""
        return tty.columns_of(self._stderr, otherwise)

    def data(self, chunk: bytes) -> None:
        """Write data. Raises `BrokenPipeError` when nobody reads it any more."""
        if self._stdout is not None:
            self._stdout.write(chunk)

    @contextmanager
    def flushed(self) -> Iterator[None]:
        """Write out what `data` buffered, at the end of the block."""
        yield
        if self._stdout is not None:
            self._stdout.flush()

    def note(self, text: str, prefix: str = "") -> None:
        """An information line."""
        if self.level > Level.QUIET:
            self._line(prefix + text)

    def progress(self, text: str) -> None:
        """A progress line that stays."""
        self.note(text, "[progress] ")

    def warning(self, text: str, problem: problems.Problem | None = None) -> None:
        """A line about something that did not fail but matters; with `problem` it is among the records that `--errors json` gives."""
        if self.records and problem is not None:
            self._record(problem)
        else:
            self.note(text, "[warn] ")

    def debug(self, text: str) -> None:
        """A line for those who asked with `-v`."""
        if self.level is Level.VERBOSE:
            self._line(f"[debug] {text}")

    def error(self, text: str, problem: problems.Problem | None = None) -> None:
        """A line that even `-q` shows, or its record."""
        if self.records:
            self._record(problem if problem is not None else problems.of_text(text))
        else:
            self._line(f"[error] {text}")

    def error_head(self, text: str) -> None:
        """A line above or below errors; records speak for themselves."""
        if not self.records:
            self._line(f"[error] {text}")

    def plain(self, text: str) -> None:
        """Text for stderr as it is: the help of a usage error, a traceback."""
        for line in text.rstrip("\n").split("\n"):
            self._line(line)

    def ask(self, question: str) -> None:
        """A question, whose answer is typed in the same line."""
        with self._lock:
            self.draw("")
            self._put(question)

    def draw(self, text: str) -> None:
        """Show `text` in the terminal's last line until the next line is written; an empty text clears it."""
        with self._lock:
            if self._stderr is None or self.level is Level.QUIET or not (text or self._drawn):
                return
            text = tty.plain(self.redact(text))
            width = tty.cells(text)
            self._put(f"\r{text}{' ' * max(0, self._drawn - width)}" + ("" if text else "\r"))
            self._drawn = width

    def discard_stdout(self) -> None:
        """Send whatever is still buffered nowhere: the reader has gone, and Python's own exit must not complain about it."""
        if self._stdout is None:
            return
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stdout.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return

    def _record(self, problem: problems.Problem) -> None:
        """One record in one line, in ASCII: no stream can damage it."""
        self._line(json.dumps(problem))

    def _line(self, text: str) -> None:
        with self._lock:
            self.draw("")
            self._put(tty.visible(self.redact(text)) + "\n")

    def _put(self, text: str) -> None:
        if self._stderr is None:
            return
        try:
            self._stderr.write(text)
            self._stderr.flush()
        except UnicodeEncodeError:
            self._stderr.write(text.encode("ascii", "backslashreplace").decode())
        except (BrokenPipeError, ValueError):
            self._stderr = None  # nobody reads the words any more; the data still counts
