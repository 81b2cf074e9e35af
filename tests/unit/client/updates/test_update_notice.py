"""The notice: when it is looked up, when it is shown, and that nothing waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchloop_client.cli import update_notice
from benchloop_client.cli.update_notice import LookUp, Running, UpdateNotice
from benchloop_client.contract.version import PROJECT_URL
from benchloop_client.updates.memory import DAY, Memory, Remembered


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "version-check.json")


@pytest.fixture
def make(file: Memory, clock: Clock) -> Callable[..., UpdateNotice]:
    """A notice of version 1.0.0 with a look-up of the test's own."""

    def notice(look_up: LookUp, version: str = "1.0.0", delay: float = 0.0) -> UpdateNotice:
        return UpdateNotice(file, look_up, Running(version, lambda: "pip install --upgrade it"), clock=clock, delay=delay)

    return notice


def never(_cancel: threading.Event) -> str | None:
    """A look-up that must not be made."""
    raise AssertionError("nobody was to ask")


def settled(notice: UpdateNotice) -> list[str]:
    """What is shown once the look-up has ended."""
    for _ in range(500):
        if not any(thread.name == "benchloop-update" for thread in threading.enumerate()):
            break
        time.sleep(0.01)
    return notice.lines()


def test_a_newer_version_is_named_with_ours_and_the_way_to_it(make: Callable[..., UpdateNotice]) -> None:
    notice = make(lambda _cancel: "1.2.0")
    notice.begin()
    assert settled(notice) == [
        "[update] benchloop_client 1.2.0 is available, this is 1.0.0",
        "[update] upgrade with: pip install --upgrade it",
    ]


def test_it_is_looked_up_and_shown_once_a_day(make: Callable[..., UpdateNotice], clock: Clock) -> None:
    first = make(lambda _cancel: "1.2.0")
    first.begin()
    assert len(settled(first)) == 2
    clock.now += DAY - 1
    second = make(never)
    second.begin()
    assert settled(second) == []
    clock.now += 1
    third = make(lambda _cancel: "1.2.0")
    third.begin()
    assert len(settled(third)) == 2


def test_what_is_remembered_is_shown_without_asking(make: Callable[..., UpdateNotice], file: Memory, clock: Clock) -> None:
    file.write(Remembered(checked_at=clock.now - 60, latest_version="1.2.0", project=PROJECT_URL))
    notice = make(never)
    notice.begin()
    assert len(notice.lines()) == 2
    assert file.read().notified_at == clock.now


@pytest.mark.parametrize("found", [None, "1.0.0", "0.9", "1.0.0rc1", "nonsense", "1!9"])
def test_what_is_not_newer_is_not_shown_and_remembered(make: Callable[..., UpdateNotice], file: Memory, found: str | None) -> None:
    notice = make(lambda _cancel: found)
    notice.begin()
    assert settled(notice) == []
    assert file.read().latest_version == (found or "")
    again = make(never)
    again.begin()
    assert settled(again) == []


def test_a_failure_is_remembered(make: Callable[..., UpdateNotice], file: Memory, clock: Clock) -> None:
    def broken(_cancel: threading.Event) -> str | None:
        raise OSError("no route")

    notice = make(broken)
    notice.begin()
    assert settled(notice) == []
    assert file.read().failed_at == clock.now
    make(never).begin()


def test_a_command_that_is_done_at_once_begins_no_look_up(make: Callable[..., UpdateNotice], file: Memory) -> None:
    notice = make(never, delay=30)
    notice.begin()
    assert notice.lines() == []
    assert settled(notice) == []
    assert file.read() == Remembered()


def test_nothing_waits_for_a_slow_look_up_and_the_next_command_does_not_begin_another(
    make: Callable[..., UpdateNotice], file: Memory
) -> None:
    begun, gone = threading.Event(), threading.Event()

    def slow(cancel: threading.Event) -> str | None:
        begun.set()
        cancel.wait(20)
        gone.set()
        return "1.2.0"

    began = time.monotonic()
    notice = make(slow)
    notice.begin()
    assert begun.wait(5)
    assert notice.lines() == []
    assert time.monotonic() - began < 1
    assert gone.wait(5)
    assert settled(notice) == []
    assert file.read().tries == 1
    assert file.read().latest_version == ""
    make(never).begin()


def test_without_a_place_to_remember_nobody_is_asked(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "file").write_text("")
    notice = UpdateNotice(Memory(tmp_path / "file" / "x.json"), never, Running("1.0.0", lambda: ""), clock=clock, delay=0)
    notice.begin()
    assert settled(notice) == []


@pytest.mark.parametrize(
    ("prefix", "installer", "command"),
    [
        ("/home/me/.local/share/uv/tools/benchloop-client", "uv", "uv tool upgrade benchloop-client"),
        ("/home/me/.local/share/pipx/venvs/benchloop-client", "pip", "pipx upgrade benchloop-client"),
        ("/srv/venv", "uv", "uv pip install --upgrade benchloop-client"),
        ("/srv/venv", "pip", "/srv/venv/bin/python -m pip install --upgrade benchloop-client"),
    ],
)
def test_the_way_to_upgrade_is_that_of_the_installation(prefix: str, installer: str, command: str) -> None:
    assert update_notice.upgrade_command(Path(prefix), installer, "/srv/venv/bin/python") == command


def test_who_installed_this_is_known() -> None:
    assert update_notice.installed_by() in {"pip", "uv"}
