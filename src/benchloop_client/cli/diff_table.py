"""A comparison as a person reads it: the tasks that differ as a table, then what it comes to in a few lines."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchloop_client.cli import tty
from benchloop_client.errors import one_line

if TYPE_CHECKING:
    from benchloop_client.actions.diff import Diff, SideTotal, TaskDiff, TaskSide

_COLOURS = {"lost": "red", "won": "green"}
_IN_WORDS = {"only_a": "only in A", "only_b": "only in B"}
_ALWAYS = ("lost", "won", "both", "neither")
_LEFT_OUT = ("invalid", "ungraded", "unfinished")


def render(found: Diff, *, width: int, colour: bool, everything: bool) -> str:
    """The whole text, at most `width` columns wide; with `everything` the tasks without a difference too."""
    shown = [task for task in found.tasks if everything or _differs(task)]
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, color_system="standard" if colour else None, highlight=False)
    for line in _sides(found):
        console.print(Text(line))
    if shown:
        console.print(_table(shown))
    for line in summary(found, hidden=len(found.tasks) - len(shown)):
        console.print(Text(line))
    return out.getvalue()


def summary(found: Diff, *, hidden: int = 0) -> Iterator[str]:
    """What the comparison comes to."""
    if hidden:
        yield f"{hidden} task(s) without a difference are not shown (--all shows them)"
    yield ", ".join(f"{number} {_IN_WORDS.get(name, name)}" for name, number in found.counts.items() if number or name in _ALWAYS)
    passes = found.passes
    ties = f"; {passes.ties} task(s) passed in exactly half of a side's attempts, which counts as passed" if passes.ties else ""
    yield f"pass/fail: {passes.lost} lost, {passes.won} won of {passes.tasks} task(s), exact McNemar p = {passes.p_value:.3g}{ties}"
    if found.reward is not None:
        low, high = f"{found.reward.low:+.4f}", f"{found.reward.high:+.4f}"
        level = f"{100 * found.reward.level:.4g} % interval, bootstrap over {found.reward.pairs} task(s)"
        yield f"reward: {found.reward.mean:+.4f} a task [{low}, {high}] ({level})"
    for name, delta in (("tokens", found.tokens), ("cost $", found.cost_usd)):
        if delta.tasks:
            yield f"{name}: {_plain(delta.a)} → {_plain(delta.b)} an attempt ({_signed(delta.delta)}), over {delta.tasks} task(s)"
    yield verdict(found)


def verdict(found: Diff) -> str:
    """The one sentence."""
    if found.worse and found.better:
        return f"B is better by {_words(found.better)} and worse by {_words(found.worse)}, at level {found.significance:g}"
    if found.worse or found.better:
        word, names = ("worse", found.worse) if found.worse else ("better", found.better)
        return f"B is significantly {word} by {_words(names)}, at level {found.significance:g}"
    return f"no difference beyond chance at level {found.significance:g}"


def regression(found: Diff) -> str:
    """Why `--fail-on-regression` ends with 1, and what that means."""
    reasons = []
    if "pass" in found.worse:
        reasons.append(
            f"{found.passes.lost} tasks were lost and {found.passes.won} won (exact McNemar p = {found.passes.p_value:.2g}, "
            f"the chance of a split as uneven if nothing had changed)"
        )
    if "reward" in found.worse and found.reward is not None:
        reasons.append(
            f"the reward fell by {-found.reward.mean:.4g} a task (interval {found.reward.low:+.4g} to {found.reward.high:+.4g} without 0)"
        )
    return f"{_name(found.b)} is significantly worse than {_name(found.a)} at level {found.significance:g}: {' and '.join(reasons)}"


def _sides(found: Diff) -> Iterator[str]:
    for letter, side in (("A", found.a), ("B", found.b)):
        left_out = ", ".join(f"{getattr(side, name)} {name}" for name in _LEFT_OUT if getattr(side, name))
        rate = "no attempt" if side.pass_rate is None else f"{side.passed} passed ({side.pass_rate:.1%})"
        yield f"{letter}  {_name(side)}: {side.tasks} task(s), {side.attempts} attempt(s), {rate}" + (
            f"; left out: {left_out}" if left_out else ""
        )


def _table(tasks: list[TaskDiff]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", overflow="fold", ratio=1)
    table.add_column("change")
    for name in ("pass A", "pass B", "reward A", "reward B", "Δ reward", "Δ tokens", "Δ cost $"):
        table.add_column(name, justify="right")
    for task in tasks:
        table.add_row(
            Text(tty.plain(one_line(task.task_id))),
            Text(task.change.replace("_", " ") + (" (tie)" if task.tie else ""), style=_COLOURS.get(task.change, "")),
            *(Text(cell) for cell in _cells(task)),
        )
    return table


def _cells(task: TaskDiff) -> Iterator[str]:
    for side in (task.a, task.b):
        yield _fraction(side)
    for side in (task.a, task.b):
        yield "-" if side is None or side.reward is None else f"{side.reward:.3g}"
    yield "-" if task.reward_delta is None else f"{task.reward_delta:+.3g}"
    yield _signed(task.tokens_delta)
    yield _signed(task.cost_usd_delta)


def _fraction(side: TaskSide | None) -> str:
    return "-" if side is None else f"{side.passed}/{side.attempts}"


def _differs(task: TaskDiff) -> bool:
    return task.change not in {"both", "neither"} or bool(task.pass_rate_delta) or bool(task.reward_delta)


def _name(side: SideTotal) -> str:
    return tty.plain(one_line(side.group_id)) + (f"@{side.step}" if side.step is not None else "")


def _words(names: tuple[str, ...]) -> str:
    return " and ".join({"pass": "pass/fail", "reward": "reward"}[name] for name in names)


def _plain(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _signed(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.4g}"
