"""Which steps a window shows, how the whole way is drawn as a ribbon, and where a text stands in a step. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from benchloop_server.features.trajectories.frames import Step
from benchloop_server.features.trajectories.marks import Marks
from benchloop_server.pages import ansi
from benchloop_server.pages.formatting import shown

#: Steps of one window, and the bytes of their JSON after which it ends earlier.
WINDOW, WINDOW_BYTES = 40, 240_000
#: Parts into which the ribbon of a long way is divided.
BINS = 480
_AROUND = 60
#: What stands otherwise in JSON than in the text itself.
_ESCAPED = re.compile(r'[\x00-\x1f"\\\x7f]')
_ORDER = "IVEO."


def window(steps: Sequence[Step], first: int) -> tuple[int, int]:
    """First and last step (numbers from 0, both included) of the window that begins at `first`."""
    first = max(0, min(first, len(steps) - 1))
    last, held = first, steps[first].length if steps else 0
    while last + 1 < len(steps) and last + 1 - first < WINDOW and held + steps[last + 1].length <= WINDOW_BYTES:
        last += 1
        held += steps[last].length
    return first, last


def window_before(steps: Sequence[Step], last: int) -> tuple[int, int]:
    """The window that ends at `last`."""
    first, held = last, steps[last].length
    while first > 0 and last - first + 1 < WINDOW and held + steps[first - 1].length <= WINDOW_BYTES:
        first -= 1
        held += steps[first].length
    return first, last


def window_around(steps: Sequence[Step], middle: int) -> tuple[int, int]:
    """A window with `middle` in its first half: what led there is seen above it."""
    before, held = middle, 0
    while before > 0 and middle - before < WINDOW // 4 and held + steps[before - 1].length <= WINDOW_BYTES // 3:
        before -= 1
        held += steps[before].length
    first, last = window(steps, before)
    return (first, last) if last >= middle else (middle, middle)


class Bin(msgspec.Struct, frozen=True):
    """A part of the ribbon: `x` and `width` of 1000, the phase that most of its steps have, and the step it leads to."""

    x: float
    width: float
    phase: str
    number: int


class Ribbon(msgspec.Struct, frozen=True):
    """The whole way: bins of equal phase joined, ticks of errors as (x, number), loops as (x, width, first, last)."""

    bins: list[Bin]
    errors: list[tuple[float, int]]
    loops: list[tuple[float, float, int, int]]


def ribbon(marks: Marks) -> Ribbon:
    """The ribbon; ticks that would fall on each other are one."""
    total = len(marks.phases)
    if not total:
        return Ribbon([], [], [])
    parts = min(total, BINS)
    found: list[Bin] = []
    for part in range(parts):
        start, stop = part * total // parts, (part + 1) * total // parts
        inside = marks.phases[start:stop]
        phase = min(set(inside), key=lambda one: (-inside.count(one), _ORDER.index(one)))
        x, end = 1000 * start / total, 1000 * stop / total
        if found and found[-1].phase == phase:
            last = found.pop()
            found.append(Bin(last.x, round(end - last.x, 2), phase, last.number))
        else:
            found.append(Bin(round(x, 2), round(end - x, 2), phase, start))
    ticks: dict[int, tuple[float, int]] = {}
    for number in marks.errors:
        ticks.setdefault(number * BINS // total, (round(1000 * (number + 0.5) / total, 2), number))
    loops = [(round(1000 * a / total, 2), round(1000 * (b + 1 - a) / total, 2), a, b) for a, b in marks.loops]
    return Ribbon(found, list(ticks.values()), loops)


def in_loop(marks: Marks, number: int) -> bool:
    """Whether a step is part of something that goes in circles."""
    return any(first <= number <= last for first, last in marks.loops)


def outline_row(number: int, step: Step) -> list[Any]:
    """(number, step id, source, what it is about, tokens) as the outline lists it."""
    return [number, step.step, step.source[:10], shown(ansi.plain(step.preview)), step.tokens]


class Hit(msgspec.Struct, frozen=True):
    """Where a text stands: the step, which part of it, and the words around."""

    number: int
    step_id: int
    where: str
    before: str
    match: str
    after: str


def hits(raw: bytes, number: int, wanted: str) -> Iterator[Hit]:
    """Places of a step that hold the text, whatever its case; at most one for each part of the step."""
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    if not _ESCAPED.search(wanted) and not pattern.search(raw.decode()):
        return
    document: dict[str, Any] = msgspec.json.decode(raw)
    for where, words in _parts(document):
        found = pattern.search(words)
        if found is None:
            continue
        at, end = found.span()
        before, match, after = (_flat(part) for part in (words[max(0, at - _AROUND) : at], words[at:end], words[end : end + _AROUND]))
        yield Hit(number, document["step_id"], where, before, match, after)


def _parts(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "message", _words(document.get("message"))
    yield "thinking", str(document.get("reasoning_content") or "")
    for call in document.get("tool_calls") or ():
        name = str(call.get("function_name", ""))
        yield shown(name)[:60], f"{name} {_strings(call.get('arguments'))}"
    for result in (document.get("observation") or {}).get("results") or ():
        yield "result", _words(result.get("content"))


def _words(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _strings(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(map(_strings, value.values()))
    if isinstance(value, list):
        return " ".join(map(_strings, value))
    return str(value)


def _flat(words: str) -> str:
    return " ".join(ansi.plain(words).split(" ")).replace("\n", " ↵ ")
