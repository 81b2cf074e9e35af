"""Turns what an action reports into lines on stderr: one steady line that is drawn anew on a terminal, few lines on a log."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatchmethod

from benchloop_client.actions import events
from benchloop_client.cli import problems, tty
from benchloop_client.cli.meters import NO_TIME, Counter, File, Rate, bar, duration, shortened, size
from benchloop_client.cli.output import Level, Output

__all__ = ["Progress", "Ticker", "duration", "shortened", "size"]

_LOG_EVERY = 5.0
_DRAW_EVERY = 0.1
#: How many lines of one sort are shown one by one; the others are counted. Together with a start and an end they stay below a hundred.
_SHOWN = {"file": 30, "counter": 20, "note": 15, "warning": 15}
_MORE = {"file": "file(s)", "note": "note(s)", "warning": "warning(s)"}
_PREFIX = "[progress] "
_OTHERWISE = 80
_SHORTEST = 8


class Progress:
    """Call it with each event. Safe to call from several threads. `moved` tells how many bytes came and went so far."""

    def __init__(self, output: Output, clock: Callable[[], float], *, moved: Callable[[], int] = lambda: 0, single: bool = False) -> None:
        """`single`: there is one request at a time, so the line shows the bytes of its file."""
        self._output, self._clock, self._single = output, clock, single
        self._lock = threading.Lock()
        self._counters: dict[str, Counter] = {}
        self._files: dict[str, File] = {}
        self._rate = Rate(moved)
        self._told: dict[str, int] = {}
        self._drawn_at, self._said_at = float("-inf"), float("-inf")
        self._closed = False
        self._widest = 0
        #: Files are only planned: nothing is said about each, and counters have no lines of their own.
        self.rehearsing = False

    def __call__(self, event: events.Event) -> None:
        """Show one event."""
        with self._lock:
            self._show(event)

    def tick(self) -> None:
        """Show where things stand, if it is time; called now and then by a thread, so that the line lives while a server is slow."""
        with self._lock:
            if self._closed or not (self._counters or self._files):
                return
            if self._output.redraws:
                self._draw()
            elif self._due():
                self._output.progress(self._state(self._clock()))

    def close(self) -> None:
        """Clear the drawn line for good, and say how much was only counted."""
        with self._lock:
            self._closed = True
            self._output.draw("")
            for sort, name in _MORE.items():
                more = self._told.pop(sort, 0) - _SHOWN[sort]
                if more > 0:
                    self._output.note(f"… and {more} more {name} (-v shows each)")

    @singledispatchmethod
    def _show(self, event: object) -> None:
        raise TypeError(f"no way to show {type(event).__name__}")

    @_show.register
    def _(self, event: events.CountStarted) -> None:
        now = self._clock()
        self._counters.pop(event.label, None)
        if event.total != 0:
            self._counters[event.label] = Counter(event.label, event.unit, event.total, now)
        self._rate.look(now)
        if self._said_at < 0:
            self._said_at = now
        if not self._quiet(event) and self._few("counter"):
            self._said_at = now
            self._output.progress(f"{event.label}: total={_or_question(event.total)} {event.unit}")

    @_show.register
    def _(self, event: events.Counted) -> None:
        now = self._clock()
        counter = self._counters.setdefault(event.label, Counter(event.label, event.unit, event.total, now))
        counter.done, counter.total = event.done, event.total
        if counter.ended:
            del self._counters[event.label]
        if counter.ended and not self._quiet(event) and self._few("counter"):
            self._said_at = now
            self._output.progress(_counted(event, counter, now))
        elif self._output.redraws:
            self._draw()
        elif self._counters and self._due():
            self._output.progress(self._state(now) if self._quiet(event) else _counted(event, counter, now))

    @_show.register
    def _(self, event: events.Moved) -> None:
        now = self._clock()
        file = self._files.setdefault(event.name, File(event.name, now))
        file.done, file.total = event.done, event.total
        if file.ended:
            del self._files[event.name]
        if self._output.redraws:
            self._draw()
        elif now - file.began >= _LOG_EVERY and self._due():
            self._output.progress(self._state(now) if self._counters else file.logged(now))

    @_show.register
    def _(self, event: events.Wrote) -> None:
        self._file(f"wrote {event.path}{f' ({event.note})' if event.note else ''}")

    @_show.register
    def _(self, event: events.Downloaded) -> None:
        self._file(f"downloaded {event.path}")

    @_show.register
    def _(self, event: events.Skipped) -> None:
        self._file(f"skip existing {event.path}")

    @_show.register
    def _(self, event: events.Filtered) -> None:
        self._file(f"skip filtered {event.name}")

    @_show.register
    def _(self, event: events.Archiving) -> None:
        self._output.progress(f"creating archive {event.path}")

    @_show.register
    def _(self, event: events.Noted) -> None:
        if self._few("note"):
            self._output.note(event.text)

    @_show.register
    def _(self, event: events.Warned) -> None:
        if self._few("warning"):
            self._output.warning(event.text)

    @_show.register
    def _(self, event: events.NullAnswer) -> None:
        text = "the server's answer is null; left out"
        self._output.warning(f"{event.item}: {text}", problems.of_text(text, item=event.item, kind="null_answer"))

    @_show.register
    def _(self, event: events.Traced) -> None:
        self._output.debug(event.text)

    def _file(self, text: str) -> None:
        if not self.rehearsing and self._few("file"):
            self._output.note(text)

    def _quiet(self, event: events.CountStarted | events.Counted) -> bool:
        return event.quiet or self.rehearsing

    def _few(self, sort: str) -> bool:
        """Whether there were few lines of this sort so far, or all of them are wanted."""
        self._told[sort] = self._told.get(sort, 0) + (self._output.level is not Level.VERBOSE)
        return self._told[sort] <= _SHOWN[sort]

    def _due(self) -> bool:
        """Whether a log may get another line; then it is taken as said."""
        now = self._clock()
        if now - self._said_at < _LOG_EVERY:
            return False
        self._said_at = now
        return True

    def _draw(self) -> None:
        now = self._clock()
        if not self._closed and (self._counters or self._files) and now - self._drawn_at >= _DRAW_EVERY:
            self._drawn_at = now
            self._output.draw(self._line(now, self._output.columns(_OTHERWISE) - 1))

    def _line(self, now: float, columns: int) -> str:
        """Where things stand, in one line of at most so many columns: first it is not said how many files are active, then the bar goes,
        then most of the label, then all of it. A bar that went stays away: numbers that get longer and shorter do not make it flicker.
        """
        parts = self._parts(now)
        head = f"{_PREFIX}{parts.position}"
        self._widest = max(self._widest, len(parts.numbers))
        room = columns - tty.cells(head) - self._widest - 1
        if room < _SHORTEST:
            return tty.fitted(parts.numbers, columns)
        label = f"{parts.name} {parts.gauge}" if parts.gauge else parts.name
        if tty.cells(label) > room:
            label = parts.name if tty.cells(parts.name) <= room else shortened(parts.name, room)
        line = f"{head}{label} {parts.numbers}"
        return tty.fitted(line + parts.active if tty.cells(line) + len(parts.active) <= columns else line, columns)

    def _state(self, now: float) -> str:
        """Where things stand, for a log."""
        parts = self._parts(now)
        return f"{parts.position}{parts.name}: {parts.numbers}{parts.active}"

    def _parts(self, now: float) -> _Parts:
        shown = self._shown_counters()
        file = next(iter(self._files.values()), None)
        if file is not None and (self._single or not shown):
            return _Parts(_position(shown), shortened(file.name), bar(file.share), file.numbers(now), self._active())
        first = shown[0]
        share = first.share if len(shown) == 1 else first.share_with(shown[-1])
        rate = self._rate.look(now)
        eta = duration((now - first.began) * (1 - share) / share) if share else file.time_left(now) if file is not None else NO_TIME
        counts = ", ".join(counter.counts for counter in shown)
        numbers = f"{counts} {size(self._rate.total)} {size(int(rate))}/s eta={eta}"
        return _Parts("", first.label, bar(share), numbers, self._active())

    def _shown_counters(self) -> list[Counter]:
        """The outermost counter under way, and the one that began last inside it; one that only goes to 1 stands back for others."""
        under_way = list(self._counters.values())
        telling = [counter for counter in under_way if counter.total != 1] or under_way
        return [telling[0], telling[-1]] if len(telling) > 1 else telling

    def _active(self) -> str:
        return f" ({len(self._files)} active)" if len(self._files) > 1 and not self._single else ""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of the line: `[i/n] ` or nothing, what is under way, a bar or nothing, the numbers, and how many files are active."""

    position: str
    name: str
    gauge: str
    numbers: str
    active: str


class Ticker:
    """A thread that lets a progress line live; ends by `stop`, or with the process."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name="benchloop-progress", daemon=True).start()

    def stop(self) -> None:
        """Tick no more."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(_DRAW_EVERY * 2):
            self._progress.tick()


def _position(shown: list[Counter]) -> str:
    if not shown:
        return ""
    counter = shown[-1]
    number = counter.done + 1 if counter.total is None else min(counter.done + 1, counter.total)
    return f"[{number}/{_or_question(counter.total)}] "


def _counted(event: events.Counted, counter: Counter, now: float) -> str:
    text = f"{event.label}: {event.done}/{_or_question(event.total)} {event.unit}, {event.what}"
    return text + counter.times(now) if event.timed else text


def _or_question(total: int | None) -> str:
    return "?" if total is None else str(total)
