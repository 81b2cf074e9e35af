"""What a study of behaviour found, as a person reads it: the summary, and the comparison within tasks with the raw one beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from benchloop_client.cli import tty
from benchloop_client.cli.table import Cell, Table

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_HEADS = ("behaviour", "within the task", "95 % interval", "pooled", "tasks", "q", "status")
_EXAMPLES = 3
_NEVER = "not_applicable"
_MORE = "Points are hundredths of reward. The whole summary, model and categories: --format json."

#: What Markdown adds to words: an escape gives its sign back, marks go.
_MARKS = re.compile(r"\\([^\w\s])|\*\*|`")

Found = Mapping[str, Any]


def render_line(line: bytes, *, width: int, colour: bool) -> Iterator[bytes]:
    """A task's answer (JSON), as `render`; one without a result is named with its state."""
    answer: dict[str, Any] = msgspec.json.decode(line)
    if not isinstance(answer.get("summary"), str):
        yield _line(f"{answer.get('task_id')}: {answer.get('status')}{_because(answer.get('error'))}")
        return
    patterns = answer.get("behaviorPatterns")
    yield from render(
        str(answer.get("task_id")),
        patterns if isinstance(patterns, list) else [],
        answer["summary"],
        width=width,
        colour=colour,
    )


def render(title: str, patterns: Sequence[Found], summary: str, *, width: int, colour: bool) -> Iterator[bytes]:
    """All lines about one result; its table is at most `width` columns wide. `patterns` are records as in `behaviorPatterns`."""
    yield _line(f"{_BOLD}{tty.plain(title)}{_PLAIN}" if colour else tty.plain(title))
    yield from (_line(tty.plain(text)) for text in _lead(summary))
    if patterns:
        shown = [pattern for pattern in patterns if pattern.get("status") != _NEVER]
        yield from Table(_HEADS, lambda: map(_row, shown), width=width).text(colour=colour)
        if len(shown) < len(patterns):
            yield _line(f"{len(patterns) - len(shown)} more never applied, or never differed.")
        yield from (_line(text) for text in _cited(patterns))
        yield _line(_MORE)


def judged(found: Found | None, *, width: int, colour: bool) -> Iterator[bytes]:
    """What a model said of behaviour; nothing where none was asked."""
    if found is None:
        return
    title = f"Behaviour in the opinion of {found.get('model')}: {found.get('asked')} job(s) asked about, {found.get('unasked')} not"
    yield b"\n"
    yield from render(title, found.get("behaviorPatterns") or (), "", width=width, colour=colour)


def _lead(summary: str) -> Iterator[str]:
    """What stands before the first part with a heading of its own, without the title."""
    blank = True
    for text in summary.splitlines():
        if text.startswith("## "):
            return
        if not text.startswith("# ") and not (blank and not text):
            blank = not text
            yield _MARKS.sub(lambda found: found.group(1) or "", text)


def _row(pattern: Found) -> list[Cell]:
    return [
        Cell.of(str(pattern.get("name"))),
        Cell.of(_points(pattern.get("within_task_rd")), number=True),
        Cell.of(_interval(pattern.get("rd_ci")), number=True),
        Cell.of(_points(pattern.get("pooled_rd")), number=True),
        Cell.of(str(pattern.get("informative_tasks", "-")), number=True),
        Cell.of(_small(pattern.get("q")), number=True),
        Cell.of(str(pattern.get("status", "")).replace("_", " ")),
    ]


def _cited(patterns: Sequence[Found]) -> Iterator[str]:
    """Of the behaviours about which something can be said, where to look."""
    told = [pattern for pattern in patterns if pattern.get("status") in {"supported", "suggestive"}]
    for pattern in told[:_EXAMPLES]:
        places = [_place(example) for example in pattern.get("examples") or ()]
        if places:
            yield tty.plain(f"{pattern.get('name')}, for example: {', '.join(places[:2])}")


def _place(example: Found) -> str:
    steps = example.get("steps") or ()
    at = f" at step {', '.join(map(str, steps[:3]))}" if steps else ""
    return f"{example.get('job')}{at} ({example.get('outcome')})"


def _points(value: Any) -> str:
    """Reward between 0 and 1 as points between 0 and 100."""
    return "-" if not isinstance(value, int | float) else f"{100 * value:+.1f}"


def _interval(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "-"
    return f"{_points(value.get('low'))} … {_points(value.get('high'))}"


def _small(value: Any) -> str:
    return "-" if not isinstance(value, int | float) else f"{value:.3f}"


def _because(error: Any) -> str:
    return f" ({error})" if error else ""


def _line(text: str) -> bytes:
    return text.encode("utf-8", "replace") + b"\n"
