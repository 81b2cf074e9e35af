"""Places found in a shortened log stand where they say in the whole one."""

from __future__ import annotations

import pytest

from benchloop_analysis.lines import LONGEST, Searchable

WIDE = "x" * (3 * LONGEST)


@pytest.mark.parametrize("text", ["", "a\nb", WIDE, f"a\n{WIDE}\nb\n{WIDE}\n\nc", f"{WIDE}\n{WIDE}\nend", "\n" * 5000])
def test_every_place_is_the_same_character(text: str) -> None:
    searched = Searchable(text)
    assert all(text[searched.place(at)] == sign for at, sign in enumerate(searched.short))
    assert max(map(len, searched.short.split("\n"))) <= LONGEST


def test_what_follows_a_long_line_is_found() -> None:
    text = f"{WIDE}\nneedle\n{WIDE}\nneedle"
    searched = Searchable(text)
    places = [searched.place(at) for at in range(len(searched.short)) if searched.short.startswith("needle", at)]
    assert [text[place : place + 6] for place in places] == ["needle", "needle"]
