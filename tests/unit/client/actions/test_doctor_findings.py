"""What `bl doctor` makes of what it sees: the clock, the gravest trouble, looks that hang."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from benchloop_client._probe import Reached, Unreached
from benchloop_client.actions import doctor, machine
from benchloop_client.actions.findings import Finding, worst
from benchloop_client.errors import Cancelled


@pytest.mark.parametrize(
    ("skew", "status", "words"),
    [(None, "ok", "does not say"), (2.0, "ok", "in step"), (-95.0, "warn", "95 s ahead"), (3600.0, "warn", "behind")],
)
def test_the_clock_is_compared(skew: float | None, status: str, words: str) -> None:
    finding = doctor._clock(Reached(None, 200, skew))
    assert finding.status == status
    assert words in finding.text


def test_the_gravest_trouble_decides() -> None:
    local, network, key = (Finding.fail("c", "t", "f", trouble) for trouble in ("local", "network", "key"))
    assert worst([Finding.ok("c", "t"), Finding.warn("c", "t", "f")]) is None
    assert worst([local, network]) == "network"
    assert worst([network, key, local]) == "key"
    assert worst([local]) == "local"


def test_a_look_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PATIENCE", 0.2)
    release = threading.Event()
    began = time.monotonic()
    with pytest.raises(Unreached, match="no answer in time"):
        doctor._bounded(lambda: release.wait(30), "dns", threading.Event())
    assert time.monotonic() - began < 5
    release.set()


def test_a_look_ends_when_the_work_is_cancelled() -> None:
    cancel, release = threading.Event(), threading.Event()
    threading.Timer(0.1, cancel.set).start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        doctor._bounded(lambda: release.wait(30), "dns", cancel)
    assert time.monotonic() - began < 2
    release.set()


def test_little_space_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LITTLE_SPACE", 1 << 62)
    found = {finding.check: finding for finding in machine.output(tmp_path, "default")}
    assert (found["output"].status, found["disk"].status) == ("ok", "warn")
    assert list(tmp_path.iterdir()) == []
