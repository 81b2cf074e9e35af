"""`bl push`: upload run directories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.actions import push as actions
else:
    actions = lazy("benchloop_client.actions.push")

_FORMATS = click.Choice(("auto", "harbor", "atif", "tau"))


@click.command(name="push", cls=options.Leaf, example="bl push runs/2026-01-01 --benchmark terminal-bench --step 400 --group rl-run-7")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--group", metavar="ID", help="Group id (default: made from the run's name).")
@click.option("--format", "format_", type=_FORMATS, default="auto", show_default=True, help="What kind of run directory it is.")
@click.option("--model", metavar="TEXT", help="Model, where the files do not say.")
@click.option("--benchmark", metavar="TEXT", help="Benchmark, where the files do not say.")
@click.option("--step", type=int, metavar="N", help="Training step that these jobs belong to.")
@click.option("--reward-key", metavar="KEY", help="Which of several rewards counts.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Files to leave out, by their path inside a job (repeatable).")
@click.option("--redact", is_flag=True, help="Replace keys and tokens found in the files before sending.")
@click.option("--allow-secrets", is_flag=True, help="Send the files as they are, keys and tokens included.")
@ask.with_session
def command(session: Session, *, path: Path, format_: str, redact: bool, allow_secrets: bool, **told: Any) -> int:
    """Upload run directories; sends only what is new."""
    if redact and allow_secrets:
        raise click.BadParameter("--redact and --allow-secrets are mutually exclusive")
    secrets: actions.Secrets = "redact" if redact else "allow" if allow_secrets else "stop"
    pushed = actions.push(ask.job(session), actions.Request(path, format=format_, secrets=secrets, **told))
    code = ask.print_values(session, [actions.as_json(group) for group in pushed.groups], pushed.report)
    return code or int(any(group.rejected for group in pushed.groups))
