"""Whoever asks for uploads that are being made durable just now waits for them, and for no others."""

from __future__ import annotations

import threading
import time

from benchloop_server.features.uploads.ending import Ending

_MINE, _OTHER = ("w", "media", "a"), ("w", "media", "b")


def _until_waiting(ending: Ending) -> None:
    end = time.monotonic() + 20
    while not ending._changed._waiters:  # type: ignore[attr-defined]
        assert time.monotonic() < end, "nobody waits"
        time.sleep(0.01)


def test_only_what_is_on_its_way_is_waited_for() -> None:
    ending = Ending()
    answers: list[bool] = []
    with ending.of({_MINE}):
        assert not ending.wait({_OTHER})
        thread = threading.Thread(target=lambda: answers.append(ending.wait({_MINE, _OTHER})))
        thread.start()
        _until_waiting(ending)
        assert answers == []
    thread.join(10)
    assert answers == [True]
    assert not ending.wait({_MINE, _OTHER})


def test_two_requests_with_the_same_upload_are_both_waited_for() -> None:
    ending = Ending()
    with ending.of({_MINE}):
        with ending.of({_MINE}):
            pass
        thread = threading.Thread(target=ending.wait, args=({_MINE},))
        thread.start()
        _until_waiting(ending)
    thread.join(10)
    assert not thread.is_alive()
