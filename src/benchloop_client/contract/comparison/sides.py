"""One side of a comparison: a group, or one step of it, counted job by job and kept as a few sums a task. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchloop_client.contract.outcome import outcome

_AT_STEP = re.compile(r"(?s)(.+)@(\d{1,16})")
_GRADED = frozenset({"passed", "partial", "failed"})


@dataclass(frozen=True, slots=True)
class Side:
    """A group, or with `step` only its jobs of that training step."""

    group_id: str
    step: int | None = None

    @classmethod
    def parse(cls, text: str) -> Side:
        """`GROUP` or `GROUP@STEP`: an `@` and a whole number at the end name a step."""
        found = _AT_STEP.fullmatch(text)
        return cls(found.group(1), int(found.group(2))) if found else cls(text)

    def __str__(self) -> str:
        return self.group_id if self.step is None else f"{self.group_id}@{self.step}"


@dataclass(slots=True)
class Mean:
    """A mean that grows; None while nothing was recorded."""

    n: int = 0
    total: float = 0.0

    def add(self, value: float | None) -> None:
        """Count a value that was recorded."""
        if value is not None:
            self.n += 1
            self.total += value

    @property
    def value(self) -> float | None:
        """The mean so far."""
        return self.total / self.n if self.n else None


@dataclass(slots=True)
class Tally:
    """The jobs of one task on one side. `attempts` have ended and count; the others are left out: `invalid` ones have a reward known to be
    invalid, `ungraded` ones neither grade nor error, `unfinished` ones have not ended. Means are over attempts that recorded the value.
    """

    attempts: int = 0
    passed: int = 0
    invalid: int = 0
    ungraded: int = 0
    unfinished: int = 0
    reward: Mean = field(default_factory=Mean)
    tokens: Mean = field(default_factory=Mean)
    cost_usd: Mean = field(default_factory=Mean)

    def add(self, job: Mapping[str, Any]) -> None:
        """Count one row of the job list."""
        reward = number(job, "reward")
        valid = value_of(job, "reward_valid")
        result = value_of(job, "outcome") or _derived(job, reward, valid)
        if result is None:
            self.unfinished += 1
        elif valid is False:
            self.invalid += 1
        elif result == "ungraded":
            self.ungraded += 1
        else:
            self.attempts += 1
            self.passed += result == "passed"
            self.reward.add(reward if result in _GRADED else None)
            self.tokens.add(_sum(number(job, "n_input_tokens"), number(job, "n_output_tokens")))
            self.cost_usd.add(number(job, "cost_usd"))

    @property
    def pass_rate(self) -> float | None:
        """Passed / attempts."""
        return self.passed / self.attempts if self.attempts else None


@dataclass
class Counts:
    """All jobs of a side: a tally a task, and what the jobs are."""

    side: Side
    jobs: int = 0
    tasks: dict[str, Tally] = field(default_factory=dict)
    steps: set[int] = field(default_factory=set)


def value_of(row: Mapping[str, Any], name: str) -> Any:
    """A field of a row, spelled with underscores or in camel case."""
    if name in row:
        return row[name]
    first, *rest = name.split("_")
    return row.get(first + "".join(word.capitalize() for word in rest))


def number(row: Mapping[str, Any], name: str) -> float | None:
    """A field as a finite number, also where it was sent as text; None for anything else."""
    value = value_of(row, name)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _derived(job: Mapping[str, Any], reward: float | None, valid: Any) -> str | None:
    """The outcome by our own rule, for servers that send none."""
    error_type = value_of(job, "error_type")
    return outcome(
        status=str(value_of(job, "status") or ""),
        reward=reward,
        reward_valid=valid if isinstance(valid, bool) else None,
        error_type=error_type if isinstance(error_type, str) else None,
    )


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second
