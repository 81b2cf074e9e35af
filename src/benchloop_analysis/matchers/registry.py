"""The matchers by name, each with the shape of its parameters, and the conditions under which a rule looks at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from benchloop_analysis.case import Case
from benchloop_analysis.records import Evidence, FaultSide, Struct


class Finding(Struct, frozen=True, kw_only=True):
    """What a matcher found. `values` fill the places in the rule's sentence; the rest overrides what the rule says."""

    evidence: tuple[Evidence, ...]
    values: Mapping[str, str] = {}
    fault_side: FaultSide | None = None
    wasted_steps: int = 0
    wasted_seconds: float | None = None


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the parameters of a matcher. Every field named `patterns`, `unless` or `files` holds regular expressions."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in ("patterns", "unless", "files", "paths"):
                for pattern in (value,) if isinstance(value, str) else value:
                    _checked(pattern)


class NoParams(Params, frozen=True, kw_only=True):
    """Of a matcher that takes none."""


Match = Callable[[Case, str, Any], "Finding | None"]
_P = TypeVar("_P", bound=Params)


class Matcher(msgspec.Struct, frozen=True):
    """A matcher: what it looks for in a sentence, the type of its parameters, and the function."""

    says: str
    params: type[Params]
    match: Match


MATCHERS: dict[str, Matcher] = {}


def matcher(
    name: str, params: type[_P]
) -> Callable[[Callable[[Case, str, _P], Finding | None]], Callable[[Case, str, _P], Finding | None]]:
    """Register a function under the name that rules use. Its docstring tells what it looks for."""

    def register(function: Callable[[Case, str, _P], Finding | None]) -> Callable[[Case, str, _P], Finding | None]:
        MATCHERS[name] = Matcher(" ".join((function.__doc__ or "").split()), params, function)
        return function

    return register


#: What may stand in a rule's `when`: all of them have to hold before the matcher looks.
CONDITIONS: dict[str, Callable[[Case], bool]] = {
    "not_passed": lambda case: case.failed,
    "no_reward": lambda case: case.facts.reward is None,
    "no_test_ran": lambda case: case.report is None,
    "tests_ran": lambda case: case.report is not None,
    "reward_confirmed": lambda case: case.facts.reward_valid is True,
    "reward_not_confirmed": lambda case: case.facts.reward_valid is not True,
    "has_trajectory": lambda case: bool(case.events),
    "no_trajectory": lambda case: not case.events,
    "not_interactive": lambda case: not case.interactive,
    "interactive": lambda case: case.interactive,
    "has_calls": lambda case: bool(case.calls),
    "calls_expected": lambda case: bool(case.calls) or any(file.path.startswith("verifier/") for file in case.job.files),
    "no_error": lambda case: case.facts.error_type is None,
    "works_on_files": lambda case: any(event.command is not None or event.kind in ("edit", "write") for event in case.calls),
}


def one_of(patterns: Iterable[str], flags: int = re.IGNORECASE) -> re.Pattern[str] | None:
    """One pattern for all, None for none. Letter case does not matter."""
    listed = tuple(patterns)
    return _joined(listed, flags) if listed else None


_known: dict[tuple[tuple[str, ...], int], re.Pattern[str]] = {}


def _joined(patterns: tuple[str, ...], flags: int) -> re.Pattern[str]:
    found = _known.get((patterns, flags))
    if found is None:
        found = _known[patterns, flags] = re.compile("|".join(f"(?:{pattern})" for pattern in patterns), flags | re.MULTILINE)
    return found


def _checked(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
