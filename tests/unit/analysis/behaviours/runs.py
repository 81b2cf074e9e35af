"""Small runs for the tests of behaviours, and what is seen in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from benchloop_analysis.behaviours import CATALOGUE, Features, observe
from benchloop_analysis.case import Case
from tests.unit.analysis.small import call, job, say, sh

Step = dict[str, Any]
PLACES = {behaviour.name: place for place, behaviour in enumerate(CATALOGUE)}
TEST = "pytest tests/test_a.py"
PASSES = "=== 2 passed in 0.10s ==="
FAILS = "E   assert 1 == 2\n=== 1 failed, 1 passed in 0.10s ==="
TRACE = 'Traceback (most recent call last):\n  File "/app/core.py", line 3, in total\nValueError: bad total'


class Example(NamedTuple):
    """A run, and what the behaviour comes to in it; `step` is one of the steps that show it."""

    title: str
    steps: list[Step]
    value: float | None
    step: int | None = None
    task: str = "Make it work."


def examples(*rows: Example) -> pytest.MarkDecorator:
    """One test for each example."""
    return pytest.mark.parametrize("example", rows, ids=[row.title for row in rows])


def seen(*steps: Step, task: str = "Make it work.") -> Features:
    """What is seen in a run of these steps; the task's text is step 1, the first of `steps` is step 2."""
    return observe(Case(job(*steps, task=task)))


def check(name: str, example: Example) -> None:
    """Whether a behaviour comes to what the example says, at the step that it says."""
    found = seen(*example.steps, task=example.task)
    value = found.values[PLACES[name]]
    assert value == (pytest.approx(example.value) if example.value is not None else None)
    if example.step is not None:
        assert example.step in found.steps[PLACES[name]]


def read(path: str = "/app/core.py", output: str = "total = 1") -> Step:
    """A file is read."""
    return call("Read", output, file_path=path)


def edit(
    path: str = "/app/core.py", old: str = "total = 1", new: str = "total = 2", output: str = "ok", failed: bool | None = None
) -> Step:
    """A part of a file is replaced."""
    return call("Edit", output, failed=failed, file_path=path, old_string=old, new_string=new)


def write(path: str = "/app/new.py", content: str = "print('here it is')", output: str = "ok") -> Step:
    """A file is written."""
    return call("Write", output, file_path=path, content=content)


def run_tests(output: str = PASSES) -> Step:
    """The tests are run."""
    return sh(TEST, output, failed=output == FAILS)


def words(text: str = "I look at it.") -> Step:
    """The agent speaks."""
    return say(text)


def user(text: str = "Yes, please.") -> Step:
    """The user answers."""
    return say(text, "user")


def filler(count: int, start: int = 0) -> list[Step]:
    """Calls that are about nothing else."""
    return [sh(f"ls /srv/{number}", f"entry {number}") for number in range(start, start + count)]
