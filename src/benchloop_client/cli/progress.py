"""Turns what an action reports into the documented lines on stderr: few on a log, one redrawn line on a terminal."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from functools import singledispatchmethod

from benchloop_client.actions import events
from benchloop_client.cli import problems
from benchloop_client.cli.output import Output

_LOG_EVERY = 5.0
_DRAW_EVERY = 0.1
_BAR = 20
_NAME = 32


class Progress:
    """Call it with each event. Safe to call from several threads."""

    def __init__(self, output: Output, clock: Callable[[], float]) -> None:
        self._output, self._clock = output, clock
        self._lock = threading.Lock()
        self._began: dict[str, float] = {}
        self._said: dict[str, float] = {}
        self._files: dict[str, _File] = {}
        self._drawn = 0.0

    def __call__(self, event: events.Event) -> None:
        """Show one event."""
        with self._lock:
            self._show(event)

    def close(self) -> None:
        """Clear the redrawn line."""
        self._output.draw("")

    @singledispatchmethod
    def _show(self, event: object) -> None:
        raise TypeError(f"no way to show {type(event).__name__}")

    @_show.register
    def _(self, event: events.CountStarted) -> None:
        self._began[event.label] = self._said[event.label] = self._clock()
        self._output.progress(f"{event.label}: total={_or_question(event.total)} {event.unit}")

    @_show.register
    def _(self, event: events.Counted) -> None:
        last = event.done == event.total
        text = f"{event.label}: {event.done}/{_or_question(event.total)} {event.unit}, {event.what}"
        if event.timed:
            text += self._times(event)
        if self._due(event.label, _LOG_EVERY) or last:
            self._output.progress(text)
        elif self._output.terminal:
            self._draw(f"[progress] {text}")

    @_show.register
    def _(self, event: events.Moved) -> None:
        now = self._clock()
        file = self._files.setdefault(event.name, _File(now))
        file.done, file.total = event.done, event.total
        if event.total is not None and event.done >= event.total:
            del self._files[event.name]
        if self._output.terminal:
            self._draw(file.drawn(event.name, now, len(self._files)))
        elif now - file.began >= _LOG_EVERY and self._due("bytes", _LOG_EVERY):
            self._output.progress(file.logged(event.name, now))

    @_show.register
    def _(self, event: events.Wrote) -> None:
        self._output.note(f"wrote {event.path}{f' ({event.note})' if event.note else ''}")

    @_show.register
    def _(self, event: events.Downloaded) -> None:
        self._output.note(f"downloaded {event.path}")

    @_show.register
    def _(self, event: events.Skipped) -> None:
        self._output.note(f"skip existing {event.path}")

    @_show.register
    def _(self, event: events.Filtered) -> None:
        self._output.note(f"skip filtered {event.name}")

    @_show.register
    def _(self, event: events.Archiving) -> None:
        self._output.progress(f"creating archive {event.path}")

    @_show.register
    def _(self, event: events.Noted) -> None:
        self._output.note(event.text)

    @_show.register
    def _(self, event: events.Warned) -> None:
        self._output.warning(event.text)

    @_show.register
    def _(self, event: events.NullAnswer) -> None:
        text = "the server's answer is null; left out"
        self._output.warning(f"{event.item}: {text}", problems.of_text(text, item=event.item, kind="null_answer"))

    @_show.register
    def _(self, event: events.Traced) -> None:
        self._output.debug(event.text)

    def _due(self, key: str, every: float) -> bool:
        now = self._clock()
        if now - self._said.get(key, 0.0) < every:
            return False
        self._said[key] = now
        return True

    def _draw(self, text: str) -> None:
        now = self._clock()
        if now - self._drawn >= _DRAW_EVERY:
            self._drawn = now
            self._output.draw(text[: shutil.get_terminal_size().columns - 1])

    def _times(self, event: events.Counted) -> str:
        elapsed = self._clock() - self._began.get(event.label, self._clock())
        if not event.total or not event.done:
            return f", elapsed={duration(elapsed)}"
        return f", elapsed={duration(elapsed)}, eta={duration(elapsed / event.done * (event.total - event.done))}"


class _File:
    """The bytes of one file under way."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.done = 0
        self.total: int | None = None

    def logged(self, name: str, now: float) -> str:
        """As a line of a log."""
        known = f"/{size(self.total)}" if self.total else ""
        return f"{shortened(name)} {size(self.done)}{known} {self._speed(now)}"

    def drawn(self, name: str, now: float, active: int) -> str:
        """As a redrawn line, with a bar where the length is known."""
        others = f" ({active} active)" if active > 1 else ""
        if not self.total:
            return f"{shortened(name)} {size(self.done)} {self._speed(now)}{others}"
        filled = min(_BAR, _BAR * self.done // self.total)
        bar = f"[{'#' * filled}{'-' * (_BAR - filled)}]"
        rate = self.done / max(now - self.began, 1e-6)
        eta = duration((self.total - self.done) / rate) if rate else "--:--"
        return f"{shortened(name)} {bar} {size(self.done)}/{size(self.total)} {self._speed(now)} eta={eta}{others}"

    def _speed(self, now: float) -> str:
        return f"{size(int(self.done / max(now - self.began, 1e-6)))}/s"


def duration(seconds: float) -> str:
    """MM:SS, or HH:MM:SS from one hour on."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def size(count: int) -> str:
    """Bytes in decimal units: `B` whole, `kB`, `MB`, `GB` with one decimal."""
    if count < 1000:
        return f"{count} B"
    for unit, limit in (("kB", 1e3), ("MB", 1e6)):
        if count < limit * 1000:
            return f"{count / limit:.1f} {unit}"
    return f"{count / 1e9:.1f} GB"


def shortened(name: str) -> str:
    """The last part of a name that is too long for a line."""
    return name if len(name) <= _NAME else f"…{name[-(_NAME - 1) :]}"


def _or_question(total: int | None) -> str:
    return "?" if total is None else str(total)
