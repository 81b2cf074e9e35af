"""Where what has no place in the normal form goes: into the `extra` of the nearest object that has one, never away."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard, TypeVar

import msgspec

from benchloop_client.contract.trajectory.shape import INT_MAX, INT_MIN

_T = TypeVar("_T")


class Notes:
    """The names of the changes that lose or invent something, collected while one document is normalised."""

    def __init__(self) -> None:
        self.lossy: set[str] = set()

    def add(self, name: str) -> None:
        """Remember one kind of change."""
        self.lossy.add(name)


class Fields:
    """One source object being taken apart: fields are taken out by name, and what remains at the end goes into `extra`."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._left = {key: item for key, item in value.items() if key != "extra"}
        extra = value.get("extra")
        self.extra: dict[str, Any] = dict(extra) if isinstance(extra, dict) else {}
        if extra is not None and not isinstance(extra, dict):
            self.keep("extra", extra)

    def take(self, key: str) -> Any:
        """The value of `key` (None when absent), which is then no longer left over."""
        return self._left.pop(key, None)

    def keep(self, key: str, value: Any) -> None:
        """Put `value` into `extra` under `key`, or under `key_`, `key__` … where something else is kept there already."""
        while key in self.extra and self.extra[key] != value:
            key += "_"
        self.extra[key] = value

    def put_back(self, key: str, value: Any) -> None:
        """Leave a value among what was not understood."""
        if value is not None:
            self.keep(key, value)

    def text(self, key: str) -> str | None:
        """A string field; anything else but null is kept aside."""
        return self._typed(key, str)

    def flag(self, key: str) -> bool | None:
        """A true/false field; anything else but null is kept aside."""
        return self._typed(key, bool)

    def count(self, key: str, least: int = INT_MIN) -> int | None:
        """A whole number of at least `least`; `12.0` counts as one, anything else but null is kept aside."""
        value = self.take(key)
        number = whole(value)
        if number is not None and number >= least:
            return number
        self.put_back(key, value)
        return None

    def number(self, key: str) -> float | int | None:
        """A number; anything else but null is kept aside."""
        value = self.take(key)
        if is_number(value):
            return value
        self.put_back(key, value)
        return None

    def numbers(self, key: str, *, integers: bool) -> list[Any] | None:
        """A list of numbers; anything else but null is kept aside whole."""
        value = self.take(key)
        kinds = {int} if integers else {int, float}
        if isinstance(value, list) and all(type(item) in kinds for item in value):
            return value
        self.put_back(key, value)
        return None

    def rest(self) -> dict[str, Any]:
        """`extra` with everything that was not taken."""
        for key, value in self._left.items():
            self.keep(key, value)
        self._left = {}
        return self.extra

    def left(self) -> dict[str, Any]:
        """What was not taken, for objects of the normal form that have no `extra` of their own."""
        kept = {**self._left, **({"extra": self.extra} if self.extra else {})}
        self._left, self.extra = {}, {}
        return kept

    def _typed(self, key: str, kind: type[_T]) -> _T | None:
        value = self.take(key)
        if isinstance(value, kind):
            return value
        self.put_back(key, value)
        return None


def present(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the pairs whose value is not null, in their order."""
    return {key: value for key, value in pairs if value is not None}


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether a JSON value is a number; true and false are not."""
    return type(value) is int or type(value) is float


def whole(value: Any) -> int | None:
    """A JSON number as an integer if it is whole and fits 64 bits."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer() and INT_MIN <= value < INT_MAX:
        return int(value)
    return None


def as_text(value: Any) -> str:
    """Any JSON value as text: strings as they are, null as nothing, the rest as compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()
