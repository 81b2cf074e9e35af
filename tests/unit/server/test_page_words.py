"""Numbers, times and ids as words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_server.pages import formatting


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0, "0 s"),
        (0.42, "0.42 s"),
        (9.4, "9.4 s"),
        (9.97, "10 s"),
        (59.6, "1 m"),
        (192, "3 m 12 s"),
        (3600, "1 h"),
        (90061, "1 d 1 h"),
        (-5, "−5 s"),
    ],
)
def test_durations(seconds: float | None, words: str) -> None:
    assert formatting.duration(seconds) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (None, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (3210, "3.21 kB"),
        (999_960, "1 MB"),
        (5_400_000, "5.4 MB"),
        (10**20, "100000 PB"),
    ],
)
def test_sizes_are_decimal(size: int | None, words: str) -> None:
    assert formatting.size(size) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (0, "0"),
        (1234567, "1\u202f234\u202f567"),
        (0.12345, "0.123"),
        (12.0, "12"),
        (-3.5, "−3.5"),
        (float("nan"), "–"),
        (float("inf"), "–"),
    ],
)
def test_numbers(value: float | None, words: str) -> None:
    assert formatting.number(value) == words


@pytest.mark.parametrize(("value", "words"), [(None, "–"), (0, "$0.00"), (12.3, "$12.30"), (0.0289, "$0.0289")])
def test_money(value: float | None, words: str) -> None:
    assert formatting.money(value) == words


def test_a_rate_has_its_denominator_and_interval() -> None:
    assert formatting.rate(4, 43) == "9.3 % (4 of 43, 95 % CI 3.7–21.6)"
    assert formatting.rate(0, 0) == "– (of 0)"
    assert formatting.rate(None, 3) == "–"


@pytest.mark.parametrize(
    ("share", "words"), [(0, "0 %"), (1, "100 %"), (0.00001, "0.1 %"), (0.99999, "99.9 %"), (0.5, "50.0 %"), (None, "–")]
)
def test_only_nothing_is_zero_and_only_all_is_hundred_per_cent(share: float | None, words: str) -> None:
    assert formatting.percent(share) == words


def test_long_ids_keep_both_ends() -> None:
    assert formatting.short("a" * 31) == "a" * 31
    assert formatting.short("start-of-a-very-long-name-and-its-end-0123456789") == "start-of-a-very-lo…d-0123456789"


def test_times_have_their_zone() -> None:
    assert formatting.time("2026-04-02T11:05:09.123456Z") == "2026-04-02 11:05 UTC"
    assert formatting.time(1_775_127_909_000_000) == "2026-04-02 11:05 UTC"
    assert formatting.ago("2026-04-02T11:05:00Z", "2026-04-02T11:17:10Z") == "12 min ago"
    assert formatting.time("yesterday") == formatting.time(None) == "–"


@given(st.text(max_size=300))
def test_a_shown_text_turns_and_hides_nothing(text: str) -> None:
    shown = formatting.shown(text)
    assert not any(ord(sign) in {0x202E, 0x2066, 0x200B, 0x1B, 0x08} for sign in shown)
    assert len(formatting.short(text)) <= 31


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_number_fails(value: float) -> None:
    for words in (formatting.number, formatting.signed, formatting.duration):
        assert words(value)
