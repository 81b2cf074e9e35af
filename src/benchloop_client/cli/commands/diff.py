"""`bl diff`: two groups or two steps, task by task."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, exits, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session
from benchloop_client.contract import ids

if TYPE_CHECKING:
    from benchloop_client import settings
    from benchloop_client.actions import diff as actions
    from benchloop_client.cli import diff_table
else:
    actions = lazy("benchloop_client.actions.diff")
    settings = lazy("benchloop_client.settings")
    diff_table = lazy("benchloop_client.cli.diff_table")

_PIPE_WIDTH = 120
_LEVEL = click.FloatRange(0, 1, min_open=True, max_open=True)


def _side(_ctx: click.Context, param: click.Parameter, value: str) -> actions.Side:
    try:
        side = actions.Side.parse(value.strip())
        ids.check(side.group_id, "group id")
    except ids.BadId as error:
        raise click.BadParameter(str(error)) from None
    return side


@click.command(name="diff", cls=options.Leaf, example="bl diff rl-run-7@100 rl-run-7@200 --fail-on-regression")
@click.argument("a", callback=_side, metavar="A")
@click.argument("b", callback=_side, metavar="B")
@click.option(
    "--fail-on-regression",
    "level",
    is_flag=False,
    flag_value=0.05,
    type=_LEVEL,
    metavar="[P]",
    help="Exit 1 if B is significantly worse than A, at level P (0.05 if P is left out).",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the bootstrap.")
@click.option("--format", "format_", type=click.Choice(("json", "table")), help="[default: table on a terminal, else json]")
@click.option("--all", "everything", is_flag=True, help="Show tasks without a difference in the table too.")
@ask.with_session
def command(
    session: Session, *, a: actions.Side, b: actions.Side, level: float | None, seed: int, format_: str | None, everything: bool
) -> int:
    """Two groups or steps, task by task: won, lost and by how much.

    A and B are GROUP, or GROUP@STEP for one training step. A task counts as passed on a side when at least half of its attempts there
    passed. Attempts whose reward is known to be invalid are left out and counted. Deltas are B - A; null where a side does not know.

    Pass/fail is judged by McNemar's exact test over the tasks, the reward by a bootstrap over the tasks. The worst regression comes first.
    """
    found = actions.diff(ask.job(session), a, b, significance=level or actions.SIGNIFICANCE, seed=seed)
    session.watch.close()
    if (format_ or _by_stream(session)) == "table":
        text = diff_table.render(
            found, width=_width(session), colour=settings.wants_colour(_terminal(session)), everything=everything
        ).encode("utf-8", "replace")
    else:
        text = session.layout.value(actions.as_json(found)) + b"\n"
    with session.output.flushed():
        session.output.data(text)
    if level is not None and found.worse:
        session.output.error(f"{diff_table.regression(found)}; exit {int(exits.Exit.FAILED)} as --fail-on-regression asks")
        return exits.Exit.FAILED
    return exits.Exit.DONE


def _by_stream(session: Session) -> str:
    return "table" if _terminal(session) else "json"


def _terminal(session: Session) -> bool:
    return session.env.stdout is not None and session.env.stdout.isatty()


def _width(session: Session) -> int:
    if not _terminal(session) or session.env.stdout is None:
        return _PIPE_WIDTH
    try:
        return os.get_terminal_size(session.env.stdout.fileno()).columns or _PIPE_WIDTH
    except OSError:
        return _PIPE_WIDTH
