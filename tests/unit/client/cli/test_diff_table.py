"""The table of a comparison: what is shown, in how many columns, and that nothing in a task's id reaches the terminal as a command."""

from __future__ import annotations

from typing import Any

import pytest

from benchloop_client.actions import diff
from benchloop_client.actions.diff import Diff, Side
from benchloop_client.actions.diff_sides import Counts, Tally
from benchloop_client.cli import diff_table


def compared(*tasks: tuple[str, float, float], **options: Any) -> Diff:
    """A comparison of tasks with one attempt a side: id, reward in A, reward in B."""
    sides = [Counts(Side("A", 1)), Counts(Side("B"))]
    for name, *rewards in tasks:
        for side, reward in zip(sides, rewards, strict=True):
            outcome = "passed" if reward >= 1 else "failed"
            side.tasks.setdefault(name, Tally()).add({"status": "completed", "outcome": outcome, "reward": reward})
    return diff.compare(sides[0], sides[1], **options)


def rendered(found: Diff, *, width: int = 120, colour: bool = False, everything: bool = False) -> list[str]:
    """The lines."""
    return diff_table.render(found, width=width, colour=colour, everything=everything).splitlines()


def test_tasks_without_a_difference_are_counted_and_shown_on_demand() -> None:
    found = compared(("lost", 1, 0), ("same", 1, 1))
    assert not any(line.startswith("same") for line in rendered(found))
    assert "1 task(s) without a difference are not shown (--all shows them)" in rendered(found)
    assert any(line.startswith("same") for line in rendered(found, everything=True))


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    found = compared(("a-task-with-a-name-of-some-length", 1, 0), ("測試" * 8, 0, 1))
    assert all(len(line) <= width for line in rendered(found, width=width)[2:])


def test_an_id_is_text_and_nothing_else() -> None:
    lines = rendered(compared(("evil\x1b[2J\x07\u202e[red]x[/red]\n", 1, 0)))
    text = "\n".join(lines)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "[red]x[/red]" in text


def test_colours_are_there_when_wanted_only() -> None:
    found = compared(("lost", 1, 0))
    assert any("\x1b[31m" in line for line in rendered(found, colour=True))
    assert not any("\x1b" in line for line in rendered(found))


def test_the_sentence_of_a_regression_names_sides_numbers_and_level() -> None:
    found = compared(*((f"t{n}", 1, 0) for n in range(7)))
    assert diff_table.verdict(found) == "B is significantly worse by pass/fail and reward, at level 0.05"
    sentence = diff_table.regression(found)
    assert sentence.startswith("B is significantly worse than A@1 at level 0.05: 7 tasks were lost and 0 won (exact McNemar p = 0.016")
    assert "the reward fell by 1 a task" in sentence


def test_other_verdicts() -> None:
    assert diff_table.verdict(compared(("t", 1, 0))) == "no difference beyond chance at level 0.05"
    assert (
        diff_table.verdict(compared(*((f"t{n}", 0, 1) for n in range(7))))
        == "B is significantly better by pass/fail and reward, at level 0.05"
    )
    assert diff_table.verdict(compared(("t", 1, 0), significance=0.01)) == "no difference beyond chance at level 0.01"
