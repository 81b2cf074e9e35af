"""Time: whole microseconds since 1970 UTC inside, RFC 3339 with six digits and `Z` outside."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

#: Answers the present as microseconds since 1970 UTC.
Clock = Callable[[], int]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a zone would only be cut off again
_MICROSECOND = timedelta(microseconds=1)
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):(\d\d))\Z", re.ASCII)


def system_clock() -> int:
    """The machine's time."""
    return time.time_ns() // 1000


def format_time(micros: int) -> str:
    """`micros` as `2026-01-31T12:00:00.000000Z`; texts sort as the times do."""
    return (_NAIVE_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds") + "Z"


def format_optional(micros: int | None) -> str | None:
    """As `format_time`; None stays None."""
    return None if micros is None else format_time(micros)


def parse_time(text: str) -> int:
    """Microseconds of an RFC 3339 time with a zone; digits beyond microseconds are cut. Raises `ValueError` for anything else."""
    match = _RFC3339.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time with a time zone, such as 2026-01-31T12:00:00Z")
    day, clock, fraction, _, sign, hours, minutes = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=timezone.utc)
    micros = (moment - _EPOCH) // _MICROSECOND + int((fraction or "0")[:6].ljust(6, "0"))
    offset = (int(hours) * 60 + int(minutes)) * 60_000_000 if sign else 0
    return micros + offset if sign == "-" else micros - offset
