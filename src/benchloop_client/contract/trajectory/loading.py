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


class Scrubber:
    """One pass over a value: `lossy` names what it changed, `deepest` is the nesting it met."""

    def __init__(self) -> None:
        self.lossy: set[str] = set()
        self.deepest = 0

    def clean(self, value: Any, depth: int = 0) -> Any:
        """The value made writable; `depth` is how many arrays and objects hold it."""
        kind = type(value)
        if kind is str:
            return value if value.isascii() else self._text(value)
        if kind is dict:
            return self._object(value, depth + 1)
        if kind is list or kind is tuple:
            self._enter(depth + 1)
            return [self.clean(item, depth + 1) for item in value]
        return value if value is None or kind is bool else self._scalar(value)

    def _object(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        self._enter(depth)
        clean: dict[str, Any] = {}
        for key, item in value.items():
            name = key if type(key) is str and key.isascii() else self._text(str(key))
            # Most of what an object holds is plain text, which is not worth a call.
            clean[name] = item if type(item) is str and item.isascii() else self.clean(item, depth)
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
