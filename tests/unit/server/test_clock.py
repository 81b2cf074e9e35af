"""Times: RFC 3339 in, microseconds inside, six digits and `Z` out."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_server.kit.clock import format_optional, format_time, parse_time, system_clock

MICROS = st.integers(min_value=-62_135_596_800_000_000, max_value=253_402_300_799_999_999)


@given(MICROS)
def test_what_is_written_is_read_back(micros: int) -> None:
    assert parse_time(format_time(micros)) == micros


@given(st.lists(MICROS, min_size=2, max_size=2))
def test_texts_sort_as_times_do(pair: list[int]) -> None:
    assert (format_time(pair[0]) < format_time(pair[1])) == (pair[0] < pair[1])


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000Z"),
        ("2026-01-31 12:00:00.5z", "2026-01-31T12:00:00.500000Z"),
        ("2026-01-31T12:00:00.1234567+08:00", "2026-01-31T04:00:00.123456Z"),
        ("2026-01-31T12:00:00-00:30", "2026-01-31T12:30:00.000000Z"),
    ],
)
def test_zones_and_fractions(text: str, same: str) -> None:
    assert format_time(parse_time(text)) == same


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-02-30T12:00:00Z",
        "2026-01-31T25:00:00Z",
        "now",
        "2026-01-31T12:00:00Z\n",
        "٢٠٢٦-01-31T12:00:00Z",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_time(text)


def test_now_is_now_and_nothing_stays_nothing() -> None:
    assert abs(system_clock() / 1e6 - datetime.now(timezone.utc).timestamp()) < 5
    assert format_optional(None) is None
