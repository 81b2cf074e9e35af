"""How many requests go out at once: more while answers stay as fast, fewer after refusals, one alone after a pause."""

from __future__ import annotations

import threading
import time

import pytest

from benchloop_client._gate import CEILING, START, Gate
from benchloop_client._retry import Stop
from benchloop_client.errors import Cancelled, DeadlinePassed


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def opened(ceiling: int | None = None) -> tuple[Gate, Clock]:
    """A gate with a clock of the test's own."""
    clock = Clock()
    return Gate(Stop(threading.Event()), ceiling, now=clock), clock


def rounds(gate: Gate, seconds: float, *, times: int = 1) -> int:
    """So many times as many requests as may be under way, each answered after `seconds`; the width then."""
    for _ in range(times):
        entered = [gate.enter() for _ in range(gate.width)]
        for began in entered:
            gate.leave(began, answered=True, seconds=seconds)
    return gate.width


def test_it_starts_small_and_doubles_while_answers_stay_as_fast() -> None:
    gate, _ = opened()
    assert gate.width == START
    assert [rounds(gate, 0.05) for _ in range(5)] == [16, 32, 64, CEILING, CEILING]


def test_it_does_not_grow_where_answers_become_slower() -> None:
    gate, _ = opened()
    for _ in range(50):
        rounds(gate, 0.002 * gate.width)
    assert gate.width <= 2 * START


def test_it_does_not_grow_where_it_is_not_used() -> None:
    gate, _ = opened()
    for _ in range(100):
        gate.leave(gate.enter(), answered=True, seconds=0.05)
    assert gate.width == START


@pytest.mark.parametrize("ceiling", [1, 3, 20])
def test_a_number_given_is_never_passed(ceiling: int) -> None:
    gate, _ = opened(ceiling)
    assert rounds(gate, 0.05, times=20) == ceiling


def test_one_refusal_halves_it_once_however_many_come() -> None:
    gate, clock = opened()
    rounds(gate, 0.05, times=3)
    entered = [gate.enter() for _ in range(64)]
    clock.time += 1
    assert [gate.refused(began, 2.0) for began in entered] == [True] + [False] * 63
    assert gate.width == 32


def test_after_a_refusal_one_tries_alone_and_then_all_go_on() -> None:
    gate, clock = opened()
    first = gate.enter()
    gate.refused(first, 2.0)
    gate.leave(first, answered=False)
    passed: list[float] = []
    waiting = [threading.Thread(target=lambda: passed.append(gate.enter()), daemon=True) for _ in range(3)]
    for thread in waiting:
        thread.start()
    time.sleep(0.15)
    assert passed == []
    clock.time += 2.1
    _until(lambda: len(passed) == 1)
    time.sleep(0.15)
    assert len(passed) == 1
    gate.leave(passed[0], answered=True, seconds=0.01)
    _until(lambda: len(passed) == 3)


def test_it_grows_slowly_after_a_refusal() -> None:
    gate, clock = opened()
    rounds(gate, 0.05, times=3)
    gate.refused(gate.enter(), 0.0)
    gate.leave(0, answered=True)
    clock.time += 1
    assert [rounds(gate, 0.05) for _ in range(3)] == [36, 40, 45]


def test_a_timeout_halves_it_without_a_pause() -> None:
    gate, _ = opened()
    began = gate.enter()
    gate.slowed(began)
    gate.leave(began, answered=False)
    assert gate.width == START // 2
    assert gate.enter()


def test_whoever_waits_is_woken_by_a_cancel() -> None:
    cancel = threading.Event()
    gate = Gate(Stop(cancel), 1)
    gate.enter()
    threading.Timer(0.1, cancel.set).start()
    with pytest.raises(Cancelled):
        gate.enter()


def test_whoever_waits_is_woken_by_the_deadline() -> None:
    gate = Gate(Stop(threading.Event(), 0.2), 1)
    gate.enter()
    with pytest.raises(DeadlinePassed, match=r"0\.2 s"):
        gate.enter()


def test_many_threads_never_pass_the_width() -> None:
    gate = Gate(Stop(threading.Event()), 5)
    inside, most = [0], [0]
    lock = threading.Lock()

    def work() -> None:
        for _ in range(50):
            began = gate.enter()
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            with lock:
                inside[0] -= 1
            gate.leave(began, answered=True, seconds=0.001)

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert 1 <= most[0] <= 5


def _until(condition: object) -> None:
    end = time.monotonic() + 5
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)
