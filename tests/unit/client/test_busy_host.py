"""A server that refuses everything is given up as a whole after a while, instead of one item after the other using up its retries."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from benchloop_client import errors
from benchloop_client._gate import Gate
from benchloop_client._retry import Stop
from benchloop_client.cli.exits import TABLE, Exit
from benchloop_client.client import Client
from benchloop_client.errors import HostBusy
from benchloop_client.settings import Flags, load
from benchloop_client.transfer import pool
from tests.unit.client.scripted import Answer, scripted
from tests.unit.client.test_gate import Clock


def opened(patience: float) -> tuple[Gate, Clock]:
    """A gate with a clock of the test's own."""
    clock = Clock()
    return Gate(Stop(threading.Event()), 4, host="http://h", patience=patience, now=clock), clock


def refused(gate: Gate) -> None:
    """One request that is refused."""
    began = gate.enter()
    gate.refused(began, 0.0)
    gate.leave(began, answered=False)


def test_nothing_but_refusals_for_too_long_ends_it() -> None:
    gate, clock = opened(300)
    for _ in range(30):
        refused(gate)
        clock.time += 10
    refused(gate)
    with pytest.raises(HostBusy, match=r"http://h has answered nothing but 429 or 503 for 300 s.*--concurrency"):
        gate.enter()


def test_an_answer_in_between_is_a_new_beginning() -> None:
    gate, clock = opened(300)
    for number in range(100):
        refused(gate)
        clock.time += 10
        if number % 20 == 19:
            gate.leave(gate.enter(), answered=True)


def test_refusals_far_apart_say_nothing_about_the_time_between() -> None:
    gate, clock = opened(300)
    for _ in range(20):
        refused(gate)
        clock.time += 200


def test_later_it_is_tried_again() -> None:
    gate, clock = opened(30)
    for _ in range(3):
        refused(gate)
        clock.time += 10
    refused(gate)
    with pytest.raises(HostBusy):
        gate.enter()
    clock.time += 61
    gate.leave(gate.enter(), answered=True)


def test_a_hundred_items_end_together_with_exit_code_4() -> None:
    with scripted(lambda _asked, _raw: Answer(429, headers={"Retry-After": "0"})) as server:
        settings = replace(load(Flags(host=server.address, api_key="k", retry=1000), {"HOME": "/nonexistent"}), patience=0.5)
        client = Client(settings)
        begun = time.monotonic()
        try:
            with pytest.raises(HostBusy) as caught:
                list(pool.run(range(100), lambda number: client.job(f"J{number}"), width=client.width, cancel=client.cancel))
        finally:
            client.close()
    assert time.monotonic() - begun < 5
    assert server.address in str(caught.value)
    assert next(code for kind, code, _ in TABLE if isinstance(caught.value, kind)) == Exit.NETWORK
    assert issubclass(HostBusy, errors.NetworkError)
