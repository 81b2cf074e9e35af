"""Work is drawn as needed, ends early when it must, and never holds the program."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest

from benchloop_client.errors import AuthError, Cancelled, DiskFull, NetworkError
from benchloop_client.transfer.pool import Width, run


def fixed(count: int) -> Width:
    return lambda: count


def test_every_item_gives_one_result() -> None:
    results = list(run(range(200), lambda n: n * 2, width=fixed(8), cancel=threading.Event()))
    assert sorted(result.value or 0 for result in results) == [n * 2 for n in range(200)]


def test_nothing_to_do() -> None:
    assert list(run([], lambda n: n, width=fixed(3), cancel=threading.Event())) == []


def test_order_can_be_kept() -> None:
    rng = random.Random(5)

    def work(number: int) -> int:
        time.sleep(rng.random() / 200)
        return number

    results = list(run(range(100), work, width=fixed(8), cancel=threading.Event(), ordered=True))
    assert [result.value for result in results] == list(range(100))


def test_one_failure_does_not_stop_the_others() -> None:
    def work(number: int) -> int:
        if number % 3 == 0:
            raise NetworkError("gone")
        return number

    results = list(run(range(30), work, width=fixed(4), cancel=threading.Event()))
    assert sum(isinstance(result.error, NetworkError) for result in results) == 10
    assert len(results) == 30


def test_the_ceiling_is_hard() -> None:
    lock = threading.Lock()
    active = most = 0

    def work(number: int) -> None:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.002)
        with lock:
            active -= 1

    list(run(range(60), work, width=fixed(3), cancel=threading.Event()))
    assert most == 3


@pytest.mark.parametrize("ordered", [True, False])
def test_items_are_drawn_as_they_are_needed(ordered: bool) -> None:
    drawn = 0

    def items() -> Iterator[int]:
        nonlocal drawn
        for number in range(10_000):
            drawn += 1
            yield number

    first_done = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            first_done.wait(0.3)
        return number

    for result in run(items(), work, width=fixed(4), cancel=threading.Event(), ordered=ordered):
        assert drawn - result.index < 10_000
        if ordered and result.index == 0:
            assert drawn <= 40
            first_done.set()
        if result.index >= 50:
            break
    assert drawn < 200 or not ordered


@pytest.mark.parametrize("error", [AuthError("no"), DiskFull("full")])
@pytest.mark.parametrize("ordered", [True, False])
def test_after_a_fatal_error_nothing_more_is_begun(error: Exception, ordered: bool) -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(0.01)
        raise error

    with pytest.raises(type(error)):
        list(run(range(60), work, width=fixed(5), cancel=threading.Event(), ordered=ordered))
    assert len(begun) <= 6


def test_what_is_under_way_at_a_fatal_error_still_counts() -> None:
    def work(number: int) -> int:
        if number == 0:
            raise AuthError("no")
        time.sleep(0.1)
        return number

    results = []
    with pytest.raises(AuthError):
        for result in run(range(60), work, width=fixed(4), cancel=threading.Event()):
            results.append(result)
    assert len(results) >= 2


def test_a_cancel_ends_it_within_a_second_even_if_work_is_stuck() -> None:
    cancel, release = threading.Event(), threading.Event()
    threading.Timer(0.2, cancel.set).start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        list(run(range(100), lambda n: release.wait(30), width=fixed(8), cancel=cancel))
    assert time.monotonic() - begun < 1.2
    release.set()


def test_an_interrupt_while_waiting_sets_the_cancel() -> None:
    cancel = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run(items(), lambda n: n, width=fixed(2), cancel=cancel))
    assert cancel.is_set()


def test_an_error_while_drawing_comes_through() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise NetworkError("list broke")

    with pytest.raises(NetworkError):
        list(run(items(), lambda n: n, width=fixed(2), cancel=threading.Event()))


def test_breaking_off_leaves_no_threads() -> None:
    before = threading.active_count()
    for _ in run(range(1000), lambda n: n, width=fixed(8), cancel=threading.Event()):
        break
    deadline = time.monotonic() + 2
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before
