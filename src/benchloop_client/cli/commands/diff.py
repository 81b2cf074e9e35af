"""`bl diff`: two groups or two steps, task by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, exits, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session
from benchloop_client.contract import ids

if TYPE_CHECKING:
    from benchloop_client.actions import diff as actions
    from benchloop_client.cli import diff_table, tty
else:
    actions = lazy("benchloop_client.actions.diff")
    diff_table = lazy("benchloop_client.cli.diff_table")
    tty = lazy("benchloop_client.cli.tty")

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
    if (format_ or ("table" if session.on_terminal else "json")) == "table":
        width = tty.columns_of(session.env.stdout, _PIPE_WIDTH) if session.on_terminal else _PIPE_WIDTH
        text = diff_table.render(found, width=width, colour=session.colour, everything=everything).encode("utf-8", "replace")
    else:
        text = session.layout.value(actions.as_json(found)) + b"\n"
    with session.output.flushed():
        session.output.data(text)
    if level is not None and found.worse:
        session.output.error(f"{diff_table.regression(found)}; exit {int(exits.Exit.FAILED)} as --fail-on-regression asks")
        return exits.Exit.FAILED
    return exits.Exit.DONE
