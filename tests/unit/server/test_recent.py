"""What is kept for a while: within bounds of weight and time, made once for all who ask at the same moment."""

from __future__ import annotations

import threading

import pytest

from benchloop_server.kit.recent import Recent


def one(_value: object) -> int:
    return 1


def test_a_value_is_made_once_and_again_when_it_is_old_or_forgotten() -> None:
    now = [0.0]
    recent = Recent(seconds=10, clock=lambda: now[0])
    made = iter(range(10))
    assert [recent.get("a", lambda: next(made), weight=one) for _ in range(3)] == [0, 0, 0]
    now[0] = 11
    assert recent.get("a", lambda: next(made), weight=one) == 1
    recent.forget("a")
    assert recent.get("a", lambda: next(made), weight=one) == 2
    recent.clear()
    assert recent.get("a", lambda: next(made), weight=one) == 3


def test_what_was_not_used_for_longest_goes_first() -> None:
    recent = Recent(weight=10)
    for key in ("a", "b"):
        recent.get(key, lambda: "first", weight=lambda _: 4)
    recent.get("a", lambda: "again", weight=lambda _: 4)
    recent.get("c", lambda: "first", weight=lambda _: 4)
    assert [recent.get(key, lambda: "again", weight=lambda _: 0) for key in ("a", "b", "c")] == ["first", "again", "first"]


def test_what_is_too_heavy_is_given_and_not_kept() -> None:
    recent = Recent(weight=10)
    assert recent.get("a", lambda: "first", weight=lambda _: 11) == "first"
    assert recent.get("a", lambda: "second", weight=one) == "second"


def test_all_who_ask_meanwhile_get_the_one_value() -> None:
    recent, begun, go = Recent(), threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> int:
        begun.set()
        assert go.wait(10)
        made.append(1)
        return len(made)

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(recent.get("a", make, weight=one))) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    assert recent.get("b", lambda: 7, weight=one) == 7  # nobody waits for another key
    go.set()
    for thread in threads:
        thread.join(10)
    assert (found, made) == ([1] * 5, [1])


def test_a_failure_is_told_and_not_kept() -> None:
    recent = Recent()

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        recent.get("a", fail, weight=one)
    assert recent.get("a", lambda: 1, weight=one) == 1
