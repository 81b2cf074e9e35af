"""The command tree: knows each command's name and one-line summary, and loads a command's file only when that command is asked for."""

from __future__ import annotations

import importlib
import os
from typing import IO, TYPE_CHECKING

import click

from benchloop_client.cli import exits, problems, signals
from benchloop_client.cli.env import Env
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.options import Resource, global_options
from benchloop_client.cli.session import Session
from benchloop_client.contract.version import __version__

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy("difflib")

#: Command (and file under `commands/`) → its one-line summary, in the order of `bl --help`.
SUMMARIES: dict[str, str] = {
    "analyze": "Why jobs of a local run failed, with evidence; no server.",
    "push": "Upload run directories; sends only what is new.",
    "pull": "Fetch groups or jobs into the documented file layout.",
    "verify": "Is what was downloaded into DIR still whole?",
    "retry": "Fetch again what is missing, changed or failed in DIR.",
    "groups": "Groups on the server.",
    "jobs": "Job list of groups.",
    "tasks": "Task list of groups.",
    "overview": "Statistics of groups or jobs.",
    "diff": "Two groups or steps, task by task: won, lost and by how much.",
    "metrics": "Run metrics of groups or jobs.",
    "trajectory": "Trajectories of groups or jobs.",
    "artifacts": "Artifacts of groups or jobs.",
    "report": "Reports of groups or jobs: why they failed, in words.",
    "rsi": "Weakness reports of groups or jobs.",
    "brm": "Behaviour tasks: which behaviour goes with reward.",
    "metadata": "What the source said about jobs, beside the facts.",
    "download-tasks": "Frozen job lists to download from.",
    "config": "The local configuration file.",
    "whoami": "Whose key is sent, and what it may do.",
    "doctor": "Is everything well between here and the server?",
    "completion": "A completion script for bash, zsh or fish.",
}

_WIDEST = 110


class Tree(Resource):
    """A group of lazily loaded commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the file of one command; None for a name that is not in the table."""
        if cmd_name not in SUMMARIES:
            return None
        module = importlib.import_module(f"benchloop_client.cli.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with a suggestion for a mistyped name."""
        name = args[0]
        if name not in SUMMARIES and not name.startswith("-"):
            close = difflib.get_close_matches(name, SUMMARIES, 1)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {close[0]!r}?" if close else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing a single command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"bmcli {__version__}")
        ctx.exit()


ROOT = Tree(
    name="bl",
    help="Fetch, verify and understand the data of agent benchmark runs.",
    example="bl pull -g G1 -o runs",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST},
    params=[
        *global_options(),
        click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version."),
    ],
)


def run(argv: list[str], env: Env | None = None) -> int:
    """Run one command line in `env` (default: this process) and return its exit code. Nothing is raised."""
    session = Session(env or Env.real())
    if problems.wanted(argv):
        session.given["errors"] = "json"
    with signals.noticed(session.cancel):
        try:
            code = _invoke(argv, session)
        except BaseException as error:  # noqa: BLE001 - the one place where every error becomes a sentence and an exit code
            code = exits.settle(error, session)
        finally:
            session.close()
    return code


def _invoke(argv: list[str], session: Session) -> int:
    with ROOT.make_context("bl", list(argv), obj=session, terminal_width=_width(session.env.stdout)) as ctx:
        return int(ROOT.invoke(ctx) or 0)


def _width(stdout: IO[bytes] | None) -> int:
    """How wide help is written. click would ask `shutil`, whose import takes longer than all of the rest of the help."""
    try:
        columns = os.get_terminal_size(stdout.fileno()).columns if stdout is not None else 0
    except (OSError, ValueError):
        columns = 0
    return max(min(columns or 80, _WIDEST) - 2, 50)
