"""Numbers, times and ids as words, for people. Pure; None is always `–`, never 0."""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import datetime, timezone
from typing import Any

from benchloop_analysis.wilson import wilson

NONE = "–"
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")
_COUNTS = ("", " k", " M", " G", " T")
_ID_HEAD, _ID_TAIL = 18, 12
#: Controls, and what turns the direction of the text after it.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def number(value: float | None, digits: int = 3) -> str:
    """Whole numbers with thousands apart, others with `digits` significant digits."""
    if value is None or not math.isfinite(value):
        return NONE
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}".replace(",", "\u202f").replace("-", "−")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(decimals, 8)}f}".replace(",", "\u202f")
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    """As `number`, with `+` where it is above 0."""
    return f"+{number(value, digits)}" if value is not None and value > 0 else number(value, digits)


def count(value: float | None) -> str:
    """A large number in three digits: `1.24 M`."""
    return NONE if value is None else _scaled(float(value), _COUNTS) if abs(value) >= 10_000 else number(value)


def size(value: float | None) -> str:
    """Bytes, decimal: `3.2 kB`."""
    if value is None:
        return NONE
    return f"{int(value)} B" if abs(value) < 1000 else _scaled(float(value), _SIZES, space=" ")


def duration(seconds: float | None) -> str:
    """`3 m 12 s`; `0.42 s` below ten seconds; the two largest units."""
    if seconds is None or not math.isfinite(seconds):
        return NONE
    if seconds < 0:
        return f"−{duration(-seconds)}"
    if seconds < 9.95:
        return f"{number(round(seconds, 2), 2)} s"
    whole = round(seconds)
    parts = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s")]
    first = next(index for index, (amount, _) in enumerate(parts) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)


def money(value: float | None) -> str:
    """US dollars: cents from one dollar on, three significant digits below."""
    if value is None:
        return NONE
    return f"${value:,.2f}".replace(",", "\u202f") if abs(value) >= 1 or value == 0 else f"${number(value)}"


def percent(value: float | None, digits: int = 1) -> str:
    """A share from 0 to 1 as `9.3 %`; `0 %` and `100 %` only where that is exact."""
    if value is None:
        return NONE
    if value in (0, 1):
        return f"{value:.0%}".replace("%", " %")
    return f"{min(max(100 * value, 10**-digits), 100 - 10**-digits):.{digits}f} %"


def rate(numerator: int | None, denominator: int | None) -> str:
    """`9.3 % (4 of 43, 95 % CI 3.7–21.6)`; a share is never shown without what it is of."""
    if numerator is None or denominator is None:
        return NONE
    if not denominator:
        return f"{NONE} (of 0)"
    return f"{percent(numerator / denominator)} ({number(numerator)} of {number(denominator)}, {interval(numerator, denominator)})"


def interval(numerator: int, denominator: int) -> str:
    """The 95 % Wilson interval of a share, as `95 % CI 3.7–21.6`."""
    found = wilson(numerator, denominator)
    return "no interval" if found is None else f"95 % CI {100 * found[0]:.1f}–{100 * found[1]:.1f}"


def parsed(moment: str | int | None) -> datetime | None:
    """An RFC 3339 text, or microseconds since 1970, as a UTC time; None for what is neither."""
    if moment is None:
        return None
    try:
        if isinstance(moment, int):
            return datetime.fromtimestamp(moment / 1e6, tz=timezone.utc)
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None


def time(moment: str | int | None) -> str:
    """`2026-04-02 11:05 UTC`."""
    found = parsed(moment)
    return NONE if found is None else found.strftime("%Y-%m-%d %H:%M UTC")


def exact_time(moment: str | int | None) -> str:
    """`2026-04-02T11:05:09Z`, to the second."""
    found = parsed(moment)
    return "" if found is None else found.strftime("%Y-%m-%dT%H:%M:%SZ")


def ago(moment: str | int | None, now: str | int) -> str:
    """`12 min ago`, by the server's clock."""
    then, present = parsed(moment), parsed(now)
    if then is None or present is None:
        return NONE
    seconds = (present - then).total_seconds()
    if seconds < 45:
        return "now" if seconds > -45 else time(moment)
    for limit, unit, name in ((3600, 60, "min"), (36 * 3600, 3600, "h"), (60 * 86400, 86400, "days")):
        if seconds < limit:
            return f"{max(1, round(seconds / unit))} {name} ago"
    return time(moment)[:10]


def short(name: str | None, head: int = _ID_HEAD, tail: int = _ID_TAIL) -> str:
    """A long id with its middle left out."""
    if name is None:
        return NONE
    name = shown(name)
    return name if len(name) <= head + tail + 1 else f"{name[:head]}…{name[-tail:]}"


def shown(text: Any) -> str:
    """Any text without what would hide or turn it: control characters become visible, marks are not piled up."""
    text = _HIDDEN.sub(lambda found: f"\u27e8{ord(found.group()):x}\u27e9", str(text))
    return text if text.isascii() or not any(map(unicodedata.combining, text)) else _unpiled(text)


def _unpiled(text: str) -> str:
    kept: list[str] = []
    piled = 0
    for sign in text:
        piled = piled + 1 if unicodedata.combining(sign) else 0
        if piled <= 4:
            kept.append(sign)
    return "".join(kept)


def _scaled(value: float, units: tuple[str, ...], space: str = "") -> str:
    place = 0
    while abs(value) >= 999.5 and place < len(units) - 1:
        value, place = value / 1000, place + 1
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−") + space + units[place]


#: Under these names templates know them.
FILTERS = {
    "number": number,
    "signed": signed,
    "count": count,
    "size": size,
    "duration": duration,
    "money": money,
    "percent": percent,
    "moment": time,
    "exact_time": exact_time,
    "short": short,
    "shown": shown,
}
