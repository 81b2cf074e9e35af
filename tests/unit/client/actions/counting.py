"""Generators that the tests of processes run in processes of their own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

from benchloop_client.actions.processes import Item


def numbers(task: bytes) -> Iterator[Item]:
    """Every `of`-th number below `up_to`, from `number` on, each with the process that says it."""
    told = json.loads(task)
    for number in range(told["number"], told["up_to"], told["of"]):
        if number == told.get("fails_at"):
            raise ValueError(f"cannot count {number}")
        if number == told.get("dies_at"):
            os._exit(9)
        yield (0, number), json.dumps([number, os.getpid()]).encode()


def endless(task: bytes) -> Iterator[Item]:
    """One number, and then nothing for a long time."""
    yield (0, json.loads(task)["number"]), str(os.getpid()).encode()
    time.sleep(300)


def talkative(task: bytes) -> Iterator[Item]:
    """Prints, which must not be taken for items."""
    print("hello")
    yield (0, json.loads(task)["number"]), b"x"
