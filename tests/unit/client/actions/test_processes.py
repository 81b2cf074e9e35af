"""Several processes as one stream: in order, never far ahead, and gone when it ends, however it ends."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from benchloop_client.actions.processes import Program, run
from benchloop_client.errors import LocalError

MODULE = "tests.unit.client.actions.counting"


def tasks(of: int, up_to: int = 20, **more: Any) -> list[bytes]:
    return [json.dumps({"number": number, "of": of, "up_to": up_to, **more}).encode() for number in range(of)]


def gone(process: int) -> bool:
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("of", [1, 2, 3])
def test_the_order_is_that_of_one_process(of: int) -> None:
    found = [json.loads(data) for _, data in run(Program(MODULE, "numbers"), tasks(of))]
    assert [number for number, _ in found] == list(range(20))
    processes = {process for _, process in found}
    assert len(processes) == of and (os.getpid() in processes) == (of == 1)


def test_many_more_items_than_are_held() -> None:
    assert sum(1 for _ in run(Program(MODULE, "numbers"), tasks(2, 2000))) == 2000


def test_what_fails_in_a_process_is_told() -> None:
    with pytest.raises(LocalError, match="ValueError: cannot count 7"):
        list(run(Program(MODULE, "numbers"), tasks(2, fails_at=7)))


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(LocalError, match="ended too early"):
        list(run(Program(MODULE, "numbers"), tasks(2, dies_at=7)))


def test_processes_end_when_nobody_reads_any_more() -> None:
    found = run(Program(MODULE, "endless"), tasks(2))
    first = int(next(found)[1])
    found.close()  # type: ignore[attr-defined]
    assert gone(first)


def test_what_a_generator_prints_is_no_item(capfd: pytest.CaptureFixture[str]) -> None:
    assert [data for _, data in run(Program(MODULE, "talkative"), tasks(2))] == [b"x", b"x"]
    assert capfd.readouterr().err.count("hello") == 2
