"""What a reader wants to see of all steps at once: their phases, where errors are, what goes in circles, and the calls for comparison."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from benchloop_analysis import events as reading
from benchloop_analysis import siblings
from benchloop_analysis.records import Event
from benchloop_server.features.trajectories import steps
from benchloop_server.features.trajectories.steps import Opened
from benchloop_server.kit.services import Services

#: Calls kept for a comparison with another job.
MOST_CALLS = 2_000
#: The longest circle that is looked for, in calls, and how often it has to be gone round.
_LONGEST, _ROUNDS = 4, 3
_ORDER = "IVEO"
#: After that many steps, that many seconds.
_REST_EVERY, _REST = 10, 0.001


class Call(msgspec.Struct, frozen=True):
    """A call as it is compared: its step id, what it does and on what, and how it reads."""

    step_id: int
    signature: str
    text: str
    is_error: bool


class Marks(msgspec.Struct, frozen=True):
    """`phases`: a letter a step (E, I, V, O; `.` for a step without a call). `errors`: numbers of steps (from 0) with a call that failed.
    `loops`: first and last number of steps whose calls and results repeat. `first_error`: None without one.
    """

    phases: str
    errors: tuple[int, ...]
    loops: tuple[tuple[int, int], ...]
    calls: tuple[Call, ...]
    n_calls: int

    @property
    def first_error(self) -> int | None:
        """The number of the first step that failed."""
        return self.errors[0] if self.errors else None


def of(services: Services, one: Opened) -> Marks:
    """The marks of a trajectory: every step is read once, and what was found is kept for a while."""

    def made() -> Marks:
        return marked([step.step for step in one.index.steps], map(msgspec.json.decode, _patiently(services, one)))

    return services.recent.get(("marks", one.stored.index), made, weight=lambda found: len(found.phases) + 400 * len(found.calls) + 1_000)


def _patiently(services: Services, one: Opened) -> Iterator[bytes]:
    """The steps, with a rest now and then: whoever asks for a small answer meanwhile is let through."""
    for number, raw in steps.walk(services.blobs, one, 0, len(one) - 1):
        if number % _REST_EVERY == _REST_EVERY - 1:
            time.sleep(_REST)
        yield raw


def marked(step_ids: Sequence[int], documents: Iterable[dict[str, Any]]) -> Marks:
    """The marks of these steps, given their ids."""
    place = {step_id: number for number, step_id in enumerate(step_ids)}
    phases = ["."] * len(step_ids)
    errors: dict[int, None] = {}
    acts: list[tuple[int, str]] = []
    calls: list[Call] = []
    for event in reading.iterate(documents):
        number = place[event.step_id]
        if event.tool is None:
            continue
        phases[number] = min(phases[number], event.phase, key=lambda phase: _ORDER.find(phase) % 9)
        acts.append((number, f"{event.key} {event.output_key}"))
        if event.is_error:
            errors[number] = None
        if len(calls) < MOST_CALLS:
            calls.append(_call(event))
    loops = tuple(circles(acts))
    return Marks("".join(phases), tuple(errors), loops, tuple(calls), len(acts))


def circles(acts: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """First and last step of every row in which the same one to `_LONGEST` acts (step, what) come at least `_ROUNDS` times in a row."""
    spans: list[tuple[int, int]] = []
    for lag in range(1, _LONGEST + 1):
        start = 0
        for at in range(lag, len(acts) + 1):
            if at < len(acts) and acts[at][1] == acts[at - lag][1]:
                continue
            if at - start >= _ROUNDS * lag:
                spans.append((acts[start][0], acts[at - 1][0]))
            start = at - lag + 1
    last: tuple[int, int] | None = None
    for span in sorted(spans):
        if last is not None and span[0] <= last[1]:
            last = (last[0], max(last[1], span[1]))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _call(event: Event) -> Call:
    return Call(event.step_id, siblings.signature(event), siblings.shown(event), event.is_error)
