"""The arithmetic of the evaluation and its table: shares, steps found, F1 with a bootstrap, trivial answers. Nothing is read here."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from benchloop_analysis.intervals import LEVEL, Rate

RESAMPLES = 1_000
_HEADINGS = ("data", "question", "ours", "trivial answers", "target")
#: A gold label and the answer to it; None: no answer was given.
Pair = tuple[str, "str | None"]


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table. `met` is None where nothing was promised; `values` are the numbers behind the words."""

    data: str
    question: str
    ours: str
    trivial: str = ""
    target: str = ""
    met: bool | None = None
    values: dict[str, Any] | None = None

    def cells(self) -> tuple[str, ...]:
        """The row as text; a missed target says so."""
        target = self.target if self.met is not False else f"{self.target} MISSED"
        return (self.data, self.question, self.ours, self.trivial, target)

    def as_json(self) -> dict[str, Any]:
        """Everything about the row, for a file."""
        words = {"data": self.data, "question": self.question, "ours": self.ours, "trivial": self.trivial}
        return {**words, "target": self.target, "met": self.met, "values": self.values or {}}


@dataclass(frozen=True, slots=True)
class Located:
    """One run in which the step at fault is known: `truth`, what was answered (None: nothing), how many steps there were."""

    truth: int
    answer: int | None
    steps: int


@dataclass(frozen=True, slots=True)
class Steps:
    """How often a step was found over `of` runs: exactly, at most 1, at most 3 away. `bias`: mean of answer minus truth, where answered."""

    of: int
    answered: int
    exact: int
    within_1: int
    within_3: int
    bias: float | None

    def __str__(self) -> str:
        bias = "" if self.bias is None else f", bias {self.bias:+.1f}"
        left = "" if self.answered == self.of else f", answered {self.answered} of {self.of}"
        return f"{share(self.exact, self.of)} exact, {part(self.within_1, self.of)} ±1, {part(self.within_3, self.of)} ±3{bias}{left}"


def located(runs: Iterable[Located]) -> Steps:
    """Score answers; a run without an answer counts as not found."""
    listed = list(runs)
    away = [run.answer - run.truth for run in listed if run.answer is not None]
    exact, within_1, within_3 = (sum(abs(distance) <= most for distance in away) for most in (0, 1, 3))
    return Steps(len(listed), len(away), exact, within_1, within_3, statistics.fmean(away) if away else None)


def by_chance(runs: Iterable[Located]) -> float:
    """The share that a step drawn evenly among a run's steps would find exactly. Raises `ValueError` without runs."""
    return statistics.fmean(1 / run.steps for run in runs)


def f1_macro(pairs: Sequence[Pair]) -> float:
    """The mean of F1 over the labels that occur in the gold; an answer that was not given counts against recall only. 0 without pairs."""
    labels = sorted({gold for gold, _ in pairs})
    return statistics.fmean(_f1(pairs, label) for label in labels) if labels else 0.0


def _f1(pairs: Sequence[Pair], label: str) -> float:
    hits = sum(gold == answer == label for gold, answer in pairs)
    told, there = sum(answer == label for _, answer in pairs), sum(gold == label for gold, _ in pairs)
    return 2 * hits / (told + there)


def accuracy(pairs: Sequence[Pair]) -> float:
    """The share of right answers; 0 without pairs."""
    return sum(gold == answer for gold, answer in pairs) / len(pairs) if pairs else 0.0


def bootstrap(pairs: Sequence[Pair], statistic: Callable[[Sequence[Pair]], float], *, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile interval of a statistic over pairs drawn with replacement; equal seeds draw alike. Raises `ValueError` without
    pairs.
    """
    if not pairs:
        raise ValueError("nothing to draw from")
    dice = Random(seed)
    drawn = sorted(statistic(dice.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    tail = (1 - LEVEL) / 2
    return drawn[int(tail * RESAMPLES)], drawn[min(RESAMPLES - 1, int((1 - tail) * RESAMPLES))]


def most_frequent(pairs: Sequence[Pair]) -> list[Pair]:
    """What always answering the most frequent gold label gives."""
    label = Counter(gold for gold, _ in pairs).most_common(1)[0][0]
    return [(gold, label) for gold, _ in pairs]


def labelled(pairs: Sequence[Pair]) -> str:
    """Accuracy and macro-F1 with their intervals."""
    low, high = bootstrap(pairs, accuracy)
    below, above = bootstrap(pairs, f1_macro)
    return f"accuracy {accuracy(pairs):.2f} ({low:.2f}–{high:.2f}), macro-F1 {f1_macro(pairs):.2f} ({below:.2f}–{above:.2f})"


def share(count: int, of: int) -> str:
    """`7 of 29 (24.1 %, 12–42)`: a count, its share and Wilson's interval in percent."""
    rate = Rate.of_counts(count, of)
    if rate.value is None or rate.low is None or rate.high is None:
        return "0 of 0"
    return f"{count} of {of} ({percent(rate.value)}, {100 * rate.low:.0f}–{100 * rate.high:.0f})"


def part(count: int, of: int) -> str:
    """A share in percent, without more."""
    return percent(count / of) if of else "none"


def percent(value: float) -> str:
    """`24.1 %`."""
    return f"{100 * value:.1f} %"


def table(rows: Iterable[Sequence[str]], headings: Sequence[str] = _HEADINGS) -> str:
    """Rows as a Markdown table, columns in line."""
    lines = [tuple(headings), *(tuple(row) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(headings))]
    ruled = [lines[0], tuple("-" * width for width in widths), *lines[1:]]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in ruled)
