"""Waiting: pauses that grow, an end in time, and Ctrl-C at any moment."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from benchloop_client.actions import events
from benchloop_client.actions.waiting import Look, Patience, Wait, judged
from benchloop_client.actions.work import Work
from benchloop_client.errors import ApiError, Cancelled, NotReady


class Clock:
    """Counts seconds as told by the pauses."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Cancel(threading.Event):
    """Never sleeps: each wait moves the clock and is written down."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.pauses.append(timeout)
        self._clock.now += timeout
        return self.is_set()


@pytest.fixture
def clock(work: Work) -> Clock:
    made = Clock()
    work.client.cancel = Cancel(made)
    return made


def test_pauses_grow_to_a_limit_and_end_with_the_time(work: Work, clock: Clock) -> None:
    patience = Patience(timeout=60, first=1, longest=15, clock=clock)
    found = Wait(work, ["J1"], lambda _item: Look(False, None), patience=patience, what="x").until_done()
    pauses = work.client.cancel.pauses  # type: ignore[attr-defined]
    assert pauses[:4] == [1, 1.5, 2.25, 3.375]
    assert max(pauses) == 15
    assert sum(pauses) == 60
    assert isinstance(found.failures[0].error, NotReady)
    assert "after 60 s" in str(found.failures[0].error)


def test_each_item_is_asked_after_until_it_is_there(work: Work, clock: Clock) -> None:
    looks: dict[str, int] = {}

    def look(item: str) -> Look:
        looks[item] = looks.get(item, 0) + 1
        if item == "bad":
            raise ApiError(500, "gone")
        return Look(looks[item] >= len(item), item.upper())

    found = Wait(work, ["a", "bad", "ccc"], look, patience=Patience(clock=clock), what="x").until_done()
    assert found.answers == {0: "A", 2: "CCC"}
    assert [failure.label for failure in found.failures.values()] == ["bad"]
    assert looks == {"a": 1, "bad": 1, "ccc": 3}


def test_a_single_item_tells_its_states_once_each(work: Work, clock: Clock, seen: list[events.Event]) -> None:
    states = ["queued", "queued", "running", "done"]
    Wait(work, ["T"], lambda _item: judged({"status": states.pop(0)}, there=False), patience=Patience(clock=clock), what="x").until_done()
    assert [event.text for event in seen if isinstance(event, events.Noted)] == ["T: queued", "T: running"]


def test_ctrl_c_ends_a_pause_at_once(work: Work) -> None:
    threading.Timer(0.2, work.client.cancel.set).start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        Wait(work, ["T"], lambda _item: Look(False, None), patience=Patience(first=30), what="x").until_done()
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("answer", "there", "done"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"status": "Succeeded "}, False, True),
        ({"status": "pending"}, False, False),
        ({"status": 5}, False, False),
        (None, False, False),
    ],
)
def test_what_a_status_means(answer: Any, there: bool, done: bool) -> None:
    assert judged(answer, there=there).done is done


@pytest.mark.parametrize(
    ("status", "code"), [("not_analysed", "not_analysed"), ("FAILED", "analysis_failed"), ("cancelled", "analysis_failed")]
)
def test_a_status_that_ends_the_wait(status: str, code: str) -> None:
    with pytest.raises(NotReady) as caught:
        judged({"status": status}, there=True)
    assert caught.value.code == code
