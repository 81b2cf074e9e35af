"""From bytes to a JSON value that can be written again: what real files hold and strict decoders refuse is mended here, and named."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from benchloop_client.contract.trajectory.shape import INT_MAX, INT_MIN, MAX_DEPTH, InvalidTrajectory, TooDeep

_DIGITS_LIMIT = 4000


def load(raw: bytes) -> tuple[Any, list[str]]:
    """The JSON value in `raw` and the names of what had to be changed to read it (`invalid_utf8`, `surrogates`, `non_finite_numbers`,
    `huge_integers`). Raises `TooDeep`, or `InvalidTrajectory` when it is not JSON.
    """
    try:
        return msgspec.json.decode(raw), []
    except RecursionError:
        raise TooDeep from None
    except ValueError:
        return _load_leniently(raw)


def _load_leniently(raw: bytes) -> tuple[Any, list[str]]:
    lossy: list[str] = []
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("utf-8-sig", "replace")
        lossy.append("invalid_utf8")
    try:
        value = json.loads(text, strict=False, parse_int=_parse_int)
    except RecursionError:
        raise TooDeep from None
    except ValueError as error:
        raise InvalidTrajectory(f"not JSON: {error}") from None
    value, more = scrub(value)
    return value, sorted({*lossy, *more})


def _parse_int(digits: str) -> Any:
    return int(digits) if len(digits) <= _DIGITS_LIMIT else _HugeInt(digits)


class _HugeInt(str):
    """Digits too many for Python's own reader; already text."""

    __slots__ = ()


def scrub(value: Any) -> tuple[Any, list[str]]:
    """`value` with lone surrogates as U+FFFD, NaN and infinities as null, whole numbers beyond 64 bits as text and other types as text;
    and the names of what was changed. Raises `TooDeep`.
    """
    scrubber = Scrubber()
    clean = scrubber.clean(value)
    return clean, sorted(scrubber.lossy)


class _Unsound(Exception):
    """Something in a value cannot be written as it is."""


def _depth_of_sound(value: Any, depth: int) -> int:
    """The deepest nesting in a value below `depth` arrays and objects that can be written as it is. Raises `_Unsound`, `TooDeep`."""
    kind = type(value)
    if kind is not dict and kind is not list:
        _check_scalar(kind, value)
        return depth
    depth += 1
    if depth > MAX_DEPTH:
        raise TooDeep
    if kind is dict:
        for key in value:
            if type(key) is not str or not key.isascii():
                _check_key(key)
        value = value.values()
    deepest = depth
    for item in value:
        kind = type(item)
        if kind is dict or kind is list:
            below = _depth_of_sound(item, depth)
            deepest = max(deepest, below)
        elif item is not None and not (kind is str and item.isascii()):
            _check_scalar(kind, item)
    return deepest


def _check_key(key: Any) -> None:
    if type(key) is not str:
        raise _Unsound
    _check_scalar(str, key)


def _check_scalar(kind: type, value: Any) -> None:
    if kind is str:
        if not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise _Unsound from None
    elif kind is int:
        if not INT_MIN <= value <= INT_MAX:
            raise _Unsound
    elif not (value is None or kind is bool or (kind is float and math.isfinite(value))):
        raise _Unsound


class Scrubber:
    """One pass over a value: `lossy` names what it changed, `deepest` is the nesting it met."""

    def __init__(self) -> None:
        self.lossy: set[str] = set()
        self.deepest = 0

    def clean(self, value: Any, depth: int = 0) -> Any:
        """The value made writable: itself where nothing has to be changed. `depth` is how many arrays and objects hold it."""
        try:
            self.deepest = max(self.deepest, _depth_of_sound(value, depth))
        except _Unsound:
            return self._clean(value, depth)
        return value

    def _clean(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return value if value.isascii() else self._text(value)
        if kind is dict:
            return self._object(value, depth + 1)
        if kind is list or kind is tuple:
            self._enter(depth + 1)
            return [self._clean(item, depth + 1) for item in value]
        return value if value is None or kind is bool else self._scalar(value)

    def _object(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        self._enter(depth)
        clean: dict[str, Any] = {}
        for key, item in value.items():
            name = key if type(key) is str and key.isascii() else self._text(str(key))
            clean[name] = self._clean(item, depth)
        return clean

    def _enter(self, depth: int) -> None:
        if depth > self.deepest:
            self.deepest = depth
            if depth > MAX_DEPTH:
                raise TooDeep

    def _text(self, text: str) -> str:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            self.lossy.add("surrogates")
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    def _scalar(self, value: Any) -> Any:
        if isinstance(value, int):
            if INT_MIN <= value <= INT_MAX:
                return int(value)
            self.lossy.add("huge_integers")
            return hex(value) if value.bit_length() > 3 * _DIGITS_LIMIT else str(value)
        if isinstance(value, float):
            if math.isfinite(value):
                return float(value)
            self.lossy.add("non_finite_numbers")
            return None
        self.lossy.add("huge_integers" if isinstance(value, _HugeInt) else "other_types")
        return self._text(str(value))
