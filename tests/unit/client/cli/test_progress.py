"""The progress of long commands: one steady line on a terminal with count, bytes, rate and time left; few lines on a log."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.actions import events
from benchloop_client.cli import tty
from benchloop_client.cli.output import Level, Output
from benchloop_client.cli.progress import Progress
from benchloop_client.settings import can_redraw


class _World:
    """A clock, a byte counter and a terminal or log."""

    def __init__(self, *, terminal: bool, single: bool = False) -> None:
        self.now, self.bytes = 100.0, 0
        self.err = _Terminal() if terminal else io.StringIO()
        self.output = Output(io.BytesIO(), self.err)
        self.progress = Progress(self.output, lambda: self.now, moved=lambda: self.bytes, single=single)

    def counter(self, label: str, total: int | None, **more: Any) -> events.Counter:
        return events.Counter(self.progress, label, "jobs", total, **more)

    def drawn(self) -> list[str]:
        """Every state of the line that was drawn."""
        return [part.rstrip() for part in self.err.getvalue().split("\r")[1:] if part.strip() and "\n" not in part]

    def lines(self) -> list[str]:
        return self.err.getvalue().splitlines()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_has_count_bytes_rate_and_time_left() -> None:
    world = _World(terminal=True)
    counter = world.counter("group artifact jobs G1", 100)
    for _ in range(25):
        world.now += 0.5
        world.bytes += 500_000
        counter.step("processed", "J")
    assert world.drawn()[-1] == "[progress] group artifact jobs G1 25/100 jobs 12.5 MB 1.0 MB/s eta=00:37"


def test_a_bar_that_had_to_go_does_not_come_back_for_a_shorter_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers get longer and shorter all the time: the line keeps its form."""
    monkeypatch.setattr(tty, "columns_of", lambda _stream, _otherwise: 96)
    world = _World(terminal=True)
    counter = world.counter("group artifact jobs G1", 100)
    for moved in [9, 50, 900_000, 50, 123_456_789, 50, 50, 50]:
        world.now += 9
        world.bytes += moved
        counter.step("processed", "J")
    with_bar = ["[#" in line or "[-" in line for line in world.drawn()]
    assert with_bar == sorted(with_bar, reverse=True)
    assert with_bar[0] and not with_bar[-1]


def test_how_many_files_are_active_goes_before_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    world = _World(terminal=True)
    for columns, shown in ((120, True), (101, False)):
        monkeypatch.setattr(tty, "columns_of", lambda _stream, _otherwise, columns=columns: columns)
        counter = world.counter("group artifact jobs G1", 100)
        for n in range(20):
            world.now += 1
            world.bytes += 100_000
            world.progress(events.Moved(f"J{n}", 10, 1000))
            counter.step("processed", "J")
        assert "[##" in world.drawn()[-1]
        assert ("active" in world.drawn()[-1]) is shown


def test_it_is_drawn_ten_times_a_second_at_most() -> None:
    world = _World(terminal=True)
    counter = world.counter("x", 10_000)
    for _ in range(9_999):
        world.now += 0.001
        counter.step("processed", "J")
    assert 90 <= len(world.drawn()) <= 101


def test_it_is_steady_while_several_files_and_counters_are_under_way() -> None:
    world = _World(terminal=True)
    outer, inner = world.counter("pull", 4, quiet=True), world.counter("trajectories of G1", 50, quiet=True)
    for n in range(40):
        world.now += 0.2
        world.bytes += 1000
        world.progress(events.Moved(f"J{n}", 10, 1000))
        inner.step("fetched", f"J{n}")
    assert {line.split(" ")[1] for line in world.drawn()[5:]} == {"pull"}
    assert re.search(r"pull 0/4 jobs, \d+/50 jobs 4\d\.0 kB 5\.\d kB/s eta=00:\d\d \(40 active\)$", world.drawn()[-1])
    for _ in range(10):
        inner.step("fetched", "J")
    outer.step("pulled", "G1")
    world.now += 1
    world.progress.tick()
    assert world.drawn()[-1].split(" (")[0].endswith("1/4 jobs 40.0 kB 4.4 kB/s eta=00:27")


def test_a_counter_of_one_stands_back_for_what_is_inside() -> None:
    world = _World(terminal=True)
    world.counter("group trajectory downloads", 1)
    inner = world.counter("trajectories of G1", 30, quiet=True)
    world.now += 1
    inner.step("fetched", "J")
    assert world.drawn()[-1].startswith("[progress] trajectories of G1 1/30 jobs")


def test_it_lives_while_nothing_happens_and_ends_with_the_command() -> None:
    world = _World(terminal=True)
    world.progress.tick()
    assert world.err.getvalue() == ""
    world.counter("x", 3)
    for second in range(1, 4):
        world.now += 1
        world.bytes += 1_000_000
        world.progress.tick()
        assert world.drawn()[-1].startswith(f"[progress] x [--------------------] 0/3 jobs {second}.0 MB 1.0 MB/s eta=--:--")
    world.progress.close()
    text = world.err.getvalue()
    assert text.endswith(" \r")
    world.now += 1
    world.progress.tick()
    assert world.err.getvalue() == text


def test_one_request_at_a_time_shows_the_bytes_of_its_file() -> None:
    world = _World(terminal=True, single=True)
    counter = world.counter("group artifact jobs G1", 12)
    counter.step("processed", "J1")
    name = "J2/" + "n" * 40 + ".tgz"
    for done in (0, 1_000_000):
        world.progress(events.Moved(name, done, 4_000_000))
        world.now += 1
    world.progress(events.Moved(name, 2_000_000, 4_000_000))
    assert world.drawn()[-1] == f"[progress] [2/12] …{'n' * 23}.tgz 2.0 MB/4.0 MB 1.0 MB/s eta=00:02"
    world.now += 1
    world.progress(events.Moved(name, 4_000_000, 4_000_000))
    assert "1/12 jobs" in world.drawn()[-1]


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_the_line_is_cut_to_the_width(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = _World(terminal=True)
    world.err.fileno = lambda: -1  # type: ignore[method-assign]
    monkeypatch.setattr("os.get_terminal_size", lambda _fd: type("Size", (), {"columns": columns}))
    counter = world.counter("group artifact jobs 任务-" + "g" * 50, 100)
    for _ in range(3):
        world.now += 1
        counter.step("processed", "J")
    assert all(tty.cells(line) < columns for line in world.drawn())
    if columns >= 60:
        assert world.drawn()[-1].endswith("3/100 jobs 0 B 0 B/s eta=01:37")


def test_a_line_of_wide_letters_is_cleared_as_wide_as_it_was() -> None:
    err = _Terminal()
    output = Output(None, err)
    output.draw("任务")
    output.draw("")
    assert err.getvalue() == "\r任务\r    \r"


@pytest.mark.parametrize("what", ["dumb", "quiet", "log"])
def test_nothing_is_drawn_where_it_cannot_be_or_is_not_wanted(what: str) -> None:
    world = _World(terminal=what != "log")
    world.output.can_redraw = what != "dumb"
    world.output.level = Level.QUIET if what == "quiet" else Level.USUAL
    counter = world.counter("x", 3)
    for _ in range(2):
        world.now += 1
        counter.step("processed", "J")
    assert not set(world.err.getvalue()) & {"\r", "\x1b"}


def test_a_dumb_terminal_is_known_by_its_name() -> None:
    assert [can_redraw(environ) for environ in ({}, {"TERM": "xterm"}, {"TERM": "dumb"})] == [True, True, False]


def _five_thousand(world: _World, event: Callable[[int], events.Event]) -> None:
    counter = world.counter("group artifact jobs G1", 5000)
    for n in range(5000):
        world.now += 0.02
        world.progress(event(n))
        counter.step("processed", f"J{n}")
    world.progress.close()


@pytest.mark.parametrize(
    ("event", "last"),
    [
        (lambda n: events.Downloaded(Path(f"{n}.tgz")), "… and 4970 more file(s) (-v shows each)"),
        (lambda n: events.Wrote(Path(f"{n}.json")), "… and 4970 more file(s) (-v shows each)"),
        (lambda n: events.Noted(f"no artifact for job=J{n}"), "… and 4985 more note(s) (-v shows each)"),
        (lambda n: events.Warned(f"no artifact for job=J{n}"), "… and 4985 more warning(s) (-v shows each)"),
        (lambda n: events.Moved(f"{n}", 10, 10), "[progress] group artifact jobs G1: 5000/5000 jobs, processed J4999"),
    ],
)
def test_cli_row_25_five_thousand_jobs_are_less_than_a_hundred_lines(event: Callable[[int], events.Event], last: str) -> None:
    world = _World(terminal=False)
    _five_thousand(world, event)
    assert len(world.lines()) < 100
    assert world.lines()[-1] == last
    assert not set(world.err.getvalue()) & {"\r", "\x1b"}


def test_all_of_them_are_shown_to_who_wants_to_see_them() -> None:
    world = _World(terminal=False)
    world.output.level = Level.VERBOSE
    _five_thousand(world, lambda n: events.Downloaded(Path(f"{n}.tgz")))
    assert sum(line.startswith("downloaded ") for line in world.lines()) == 5000


def test_a_log_gets_one_line_in_five_seconds_whatever_happens() -> None:
    world = _World(terminal=False)
    counters = [world.counter(f"group artifact jobs G{n}", 1000) for n in range(5)]
    started = len(world.lines())
    for n in range(3000):
        world.now += 0.02
        world.progress(events.Moved(f"f{n % 7}", n, 10_000))
        counters[n % 5].step("processed", "J")
        world.progress.tick()
    assert 11 <= len(world.lines()) - started <= 13


def test_a_log_hears_that_a_slow_command_lives() -> None:
    world = _World(terminal=False)
    world.counter("pull", 3, quiet=True)
    for _ in range(31):
        world.now += 1
        world.bytes += 2_000_000
        world.progress.tick()
    assert world.lines()[-1] == "[progress] pull: 0/3 jobs 60.0 MB 2.0 MB/s eta=--:--"
    assert len(world.lines()) == 6


def test_counters_without_lines_of_their_own_leave_a_short_command_silent() -> None:
    world = _World(terminal=False)
    counter = world.counter("fetching", 2, quiet=True)
    for name in ("J1", "J2"):
        world.now += 0.5
        counter.step("fetched", name)
    world.progress.close()
    assert world.err.getvalue() == ""


def test_a_rehearsal_says_nothing_about_files() -> None:
    world = _World(terminal=False)
    world.progress.rehearsing = True
    counter = world.counter("group trajectory downloads", 1)
    world.progress(events.Wrote(Path("a")))
    counter.step("downloaded", "a")
    assert world.err.getvalue() == ""


def test_words_of_a_server_cannot_move_the_cursor() -> None:
    world = _World(terminal=True)
    world.progress(events.Noted("evil \x1b[2J\x1b]0;title\x07\rname"))
    world.output.error("\x9b2Jsecond\tthird")
    counter = world.counter("\x1b[31mG", 3)
    world.now += 1
    counter.step("x", "y")
    assert world.err.getvalue().split("\n")[:2] == ["evil  name", "[error] second\tthird"]
    assert "\x1b" not in world.err.getvalue()
