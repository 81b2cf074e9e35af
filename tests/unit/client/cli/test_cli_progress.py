"""Events as lines: few of them on a log, one redrawn line on a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from benchloop_client.actions import events
from benchloop_client.cli.output import Level, Output
from benchloop_client.cli.progress import Progress, duration, size


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _progress(stderr: io.StringIO, clock: _Clock | None = None) -> Progress:
    return Progress(Output(io.BytesIO(), stderr), clock or _Clock())


def test_a_log_gets_the_start_the_end_and_a_line_every_five_seconds() -> None:
    err, clock = io.StringIO(), _Clock()
    counter = events.Counter(_progress(err, clock), "task metadata downloads", "jobs", 5000, timed=True)
    for n in range(5000):
        clock.now += 1 / 32
        counter.step("processed", f"J{n}")
    lines = err.getvalue().splitlines()
    assert lines[0] == "[progress] task metadata downloads: total=5000 jobs"
    assert lines[-1] == "[progress] task metadata downloads: 5000/5000 jobs, processed J4999, elapsed=02:36, eta=00:00"
    assert 30 <= len(lines) <= 33
    assert not set(err.getvalue()) & {"\r", "\x1b"}


def test_a_terminal_sees_one_line_that_is_redrawn() -> None:
    err, clock = _Terminal(), _Clock()
    progress = _progress(err, clock)
    counter = events.Counter(progress, "job trajectory downloads", "jobs", 3)
    for n in range(2):
        clock.now += 1
        counter.step("downloaded", f"J{n}")
    progress(events.Wrote(Path("a.json"), "2 jobs"))
    progress.close()
    assert "\r[progress] job trajectory downloads 2/3 jobs 0 B 0 B/s eta=00:01" in err.getvalue()
    assert err.getvalue().endswith("wrote a.json (2 jobs)\n")


def test_bytes_are_told_on_a_log_only_when_a_file_takes_long() -> None:
    err, clock = io.StringIO(), _Clock()
    progress = _progress(err, clock)
    for _ in range(80):
        clock.now += 1 / 8
        progress(events.Moved("big.tgz", 5_000_000, 10_000_000))
    assert err.getvalue() == "[progress] big.tgz 5.0 MB/10.0 MB 1.0 MB/s\n"


def test_a_terminal_sees_a_bar_of_twenty_cells() -> None:
    err, clock = _Terminal(), _Clock()
    progress = _progress(err, clock)
    progress(events.Moved("big.tgz", 0, 4000))
    clock.now += 2
    progress(events.Moved("big.tgz", 1000, 4000))
    assert f"[{'#' * 5}{'-' * 15}] 1.0 kB/4.0 kB 500 B/s eta=00:06" in err.getvalue()


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (events.Wrote(Path("G/x.json")), "wrote G/x.json"),
        (events.Downloaded(Path("a.tgz")), "downloaded a.tgz"),
        (events.Skipped(Path("a.tgz")), "skip existing a.tgz"),
        (events.Filtered("a.tgz"), "skip filtered a.tgz"),
        (events.Archiving(Path("t.zip")), "[progress] creating archive t.zip"),
        (events.Warned("odd"), "[warn] odd"),
        (events.Noted("so"), "so"),
    ],
)
def test_the_documented_lines(event: events.Event, line: str) -> None:
    err = io.StringIO()
    _progress(err)(event)
    assert err.getvalue() == f"{line}\n"


def test_debug_lines_need_verbose_and_quiet_silences_all_but_errors() -> None:
    err = io.StringIO()
    output = Output(None, err)
    output.debug("x")
    output.level = Level.VERBOSE
    output.debug("y")
    output.level = Level.QUIET
    output.warning("z")
    output.error("e")
    assert err.getvalue() == "[debug] y\n[error] e\n"


def test_durations_and_sizes() -> None:
    assert [duration(value) for value in (0, 61, 3599.9, 3600, 86_399)] == ["00:00", "01:01", "59:59", "01:00:00", "23:59:59"]
    assert [size(value) for value in (0, 999, 1000, 1_540_000, 2_000_000_000)] == ["0 B", "999 B", "1.0 kB", "1.5 MB", "2.0 GB"]
