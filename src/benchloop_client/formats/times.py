"""Times as harnesses write them, as RFC 3339 UTC with a final Z. A time without a zone stays unknown rather than being called UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

_FORM = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,9}))?(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))"
)


def utc(value: Any) -> str | None:
    """`value` as `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, or None when it is no text, no time, or has no zone.

    Harbor writes its job times as naive local time: the zone of the machine that ran it is not recorded, and the reader's own may differ.
    """
    match = _FORM.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, _, sign, zone_hours, zone_minutes = match.groups()
    micro = int((fraction or "0")[:6].ljust(6, "0"))
    offset = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), micro, tzinfo=timezone.utc) - offset
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds" if fraction else "seconds") + "Z"
