"""What jobs have to be to be meant, apart from how that is asked of a database. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """A number from `low` to `high`, both included; None: no end on that side. What has no number does not fit."""

    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Holding:
    """A text that holds this one, whatever the case."""

    part: str


#: Fact → the value it has to have, or those of which it has to have one (None among them: or none at all), a range, or a part.
Conditions = dict[str, "str | int | bool | tuple[str | int | bool | None, ...] | Range | Holding"]
