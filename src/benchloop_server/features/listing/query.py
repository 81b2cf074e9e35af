"""What somebody looks for in the job list, to and from the pairs of a page's address. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from benchloop_client.contract.outcome import OUTCOMES
from benchloop_server.features.jobs.filters import STATUSES
from benchloop_server.kit.clock import parse_time
from benchloop_server.kit.conditions import Conditions, Holding, Range
from benchloop_server.kit.errors import bad_request

Pairs = Iterable[tuple[str, str]]
_MICROS = 1_000_000
_LONGEST = 2_000
_MOST_VALUES = 100
_BIGGEST_STEP = 2**53

#: Facts with few values, of which several may be asked for at once. An empty value asks for jobs without the fact.
FACETS = (
    *("outcome", "fail_reason", "sub_fail_reason", "reward_valid", "error_type", "status", "model", "agent", "step", "task_id"),
    *("template", "instance_id"),
)
#: Facts that are numbers: `<name>_from` and `<name>_to`. Value: what one of theirs is in the database.
RANGES: Mapping[str, float] = {"reward": 1, "cost_usd": 1, "tokens": 1, "duration": _MICROS, "n_steps": 1, "started_at": 0}
#: By what the list can be ordered; `-` before it turns the order round.
ORDERS = (
    *("created_at", "job_id", "task_id", "step", "attempt", "outcome", "reward", "fail_reason", "error_type", "model", "agent"),
    *("cost_usd", "tokens", "duration", "n_steps", "started_at", "status"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """`facets`: name → the values asked for (None: without); `ranges`: name → from, to, in the database's unit; `part`: of id or task."""

    group_id: str
    facets: Mapping[str, tuple[str | int | bool | None, ...]] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    part: str = ""
    order: str = "created_at"
    descending: bool = False

    def conditions(self, *, without: str = "") -> Conditions:
        """As the repository of jobs takes them; `without` leaves one fact free."""
        found: Conditions = {"group_id": self.group_id}
        for name, values in self.facets.items():
            if name != without:
                found[name] = values
        for name, limits in self.ranges.items():
            if name != without:
                found[name] = limits
        if self.part:
            found["name"] = Holding(self.part)
        return found

    @property
    def is_filtered(self) -> bool:
        """Whether anything but the group is asked for."""
        return bool(self.facets or self.ranges or self.part)


def parse(group_id: str, pairs: Pairs) -> JobQuery:
    """The query in the pairs of an address. Raises `DomainError` (400) naming what cannot be."""
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if len(value) > _LONGEST:
            raise bad_request(f"`{name}` is longer than {_LONGEST} characters")
        given.setdefault(name, []).append(value)
    facets = {name: _values(name, given[name]) for name in FACETS if name in given}
    ranges = {name: limits for name in RANGES if (limits := _limits(name, given)) is not None}
    order = (given.get("sort") or ["created_at"])[-1]
    if order.removeprefix("-") not in ORDERS:
        raise bad_request(f"`sort` {order[:60]!r} is none of {', '.join(ORDERS)}")
    return JobQuery(
        group_id=group_id,
        facets=facets,
        ranges=ranges,
        part=(given.get("q") or [""])[-1].strip(),
        order=order.removeprefix("-"),
        descending=order.startswith("-"),
    )


def _values(name: str, texts: list[str]) -> tuple[str | int | bool | None, ...]:
    if len(texts) > _MOST_VALUES:
        raise bad_request(f"`{name}` asks for more than {_MOST_VALUES} values")
    return tuple(dict.fromkeys(_READERS.get(name, str)(text) if text else None for text in texts))


def _step(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 16 or int(text) > _BIGGEST_STEP:
        raise bad_request(f"`step` {text[:40]!r} is no training step")
    return int(text)


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        raise bad_request("`reward_valid` is true, false or empty")
    return text == "true"


def _word(name: str, known: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise bad_request(f"`{name}` {text[:60]!r} is none of {', '.join(known)}")
        return text

    return read


_READERS: Mapping[str, Callable[[str], str | int | bool]] = {
    "step": _step,
    "reward_valid": _flag,
    "outcome": _word("outcome", OUTCOMES),
    "status": _word("status", STATUSES),
}


def _limits(name: str, given: Mapping[str, list[str]]) -> Range | None:
    low, high = (_limit(name, end, (given.get(f"{name}_{end}") or [""])[-1].strip()) for end in ("from", "to"))
    return None if low is None and high is None else Range(low, high)


def _limit(name: str, end: str, text: str) -> float | None:
    if not text:
        return None
    unit = RANGES[name]
    try:
        if not unit:
            return parse_time(text if text.endswith("Z") else f"{text}T00:00:00Z" if len(text) == 10 else f"{text[:16]}:00Z")
        value = float(text) * unit
    except ValueError:
        raise bad_request(f"`{name}_{end}` {text[:40]!r} cannot be read: {_EXPECTED[bool(unit)]}") from None
    if not math.isfinite(value):
        raise bad_request(f"`{name}_{end}` is no number")
    return value


_EXPECTED = {True: "it has to be a number", False: "it has to be a UTC time such as 2026-01-31T12:00"}
