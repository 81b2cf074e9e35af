"""Whoever asks for uploads that are being made durable just now waits for them, and for no others."""

from __future__ import annotations

import threading

from benchloop_server.features.uploads.ending import Ending

_MINE, _OTHER = ("w", "media", "a"), ("w", "media", "b")


def test_only_what_is_on_its_way_is_waited_for() -> None:
    ending, asked, go = Ending(), threading.Event(), threading.Event()
    answers: list[bool] = []

    def ask() -> None:
        asked.set()
        answers.append(ending.wait({_MINE, _OTHER}))

    with ending.of({_MINE}):
        assert not ending.wait({_OTHER})
        thread = threading.Thread(target=ask)
        thread.start()
        assert asked.wait(10)
        go.wait(0.05)
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
        thread.join(0.05)
        assert thread.is_alive()
    thread.join(10)
    assert not thread.is_alive()
