"""The options that several commands share, so that a flag means one thing everywhere; global ones are accepted before and after the resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from benchloop_client.cli.session import Session

_Fn = TypeVar("_Fn", bound=Callable[..., Any])
Decorator = Callable[[_Fn], _Fn]

EXIT_CODES = (
    "0 done; 1 an item failed; 2 wrong usage; 3 the key was refused (401); 4 the server could not be reached; 130 interrupted. "
    "Global options (`bl --help`) are accepted here as well."
)


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    name = param.name or ""
    if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        session = ctx.find_object(Session)
        if session is not None:
            session.given[name] = value
    return value


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    """Fresh copies of the global options; `hidden` ones work but are left out of a command's help."""

    def option(*names: str, **settings: Any) -> click.Option:
        return click.Option(list(names), expose_value=False, callback=_remember, hidden=hidden, **settings)

    return [
        option("--api-key", metavar="TEXT", help="Key for the server (wins over environment and config file)."),
        option("--host", metavar="TEXT", help="Base URL of the server."),
        option("-o", "--output-dir", metavar="DIR", help="Download root (default '.')."),
        option("--pretty/--no-pretty", default=None, help="Indent JSON by two spaces, or write it compactly.  [default: pretty]"),
        option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Limit of each wait.  [default: 300]"),
        option("--retry", type=int, metavar="N", help="How often a failed request is repeated.  [default: 2]"),
        option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Requests at once, at most.  [default: adaptive]"),
        option("-v", "--verbose", count=True, help="Debug lines on stderr."),
        option("-q", "--quiet", is_flag=True, default=None, help="Errors only."),
        option("--config", metavar="FILE", help="Config file (default ~/.benchloop/config.toml)."),
        option("--fsync", is_flag=True, default=None, help="Sync each file to the disk before it gets its name."),
        option("--allow-http", is_flag=True, default=None, help="Send the key over plain http to a host that is not this machine."),
    ]


class Leaf(click.Command):
    """A command that does something: takes the global options too, and ends its help with an example and the exit codes."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        """`example` is one command line that works as it stands."""
        super().__init__(*args, **kwargs)
        self.example = example
        taken = {name for param in self.params for name in (*param.opts, *param.secondary_opts)}
        self.params += [param for param in global_options(hidden=True) if not taken & set(param.opts)]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Example and exit codes, below the options."""
        if self.example:
            with formatter.section("Example"):
                formatter.write_text(self.example)
        with formatter.section("Exit codes"):
            formatter.write_text(EXIT_CODES)


def group_option() -> Decorator[_Fn]:
    """`-g/--group`: repeatable, comma lists, `-` for stdin."""
    text = "Group id (repeatable, comma list, or '-' for stdin)."
    return click.option("-g", "--group", "groups", multiple=True, metavar="ID", help=text)


def job_option() -> Decorator[_Fn]:
    """`-j/--job`: as `-g/--group`."""
    return click.option("-j", "--job", "jobs", multiple=True, metavar="ID", help="Job id (repeatable, comma list, or '-' for stdin).")


def task_option(*, required: bool = False) -> Decorator[_Fn]:
    """`--task-id`: one download task."""
    return click.option("--task-id", required=required, metavar="ID", help="Download task (`bl download-tasks create`).")


def destination_options() -> Decorator[_Fn]:
    """`-o/--output-dir` and `--skip-existing` of everything that writes files."""

    def decorate(function: _Fn) -> _Fn:
        skip = click.option("--skip-existing", is_flag=True, help="Keep files that an earlier run has fetched and verified.")
        root = click.option("-o", "--output-dir", metavar="DIR", help="Download root for this command.")
        return root(skip(function))

    return decorate


def job_filter_options() -> Decorator[_Fn]:
    """`--template`, `--status` and `--instance-id` of the job list."""

    def decorate(function: _Fn) -> _Fn:
        for name, text in (("--instance-id", "instance"), ("--status", "status"), ("--template", "template")):
            function = click.option(name, metavar="TEXT", help=f"Only jobs with this {text}.")(function)
        return function

    return decorate


def page_size_option(default: int) -> Decorator[_Fn]:
    """`--page-size`: rows a request, at least 1."""
    return click.option("--page-size", type=click.IntRange(min=1), default=default, show_default=True, help="Rows a request.")


def page_options(default_size: int = 50) -> Decorator[_Fn]:
    """`--page`, `--page-size` and `--all` of the commands that show one page."""

    def decorate(function: _Fn) -> _Fn:
        function = click.option("--all", "everything", is_flag=True, help="All pages.")(function)
        function = page_size_option(default_size)(function)
        return click.option("--page", type=click.IntRange(min=1), default=1, show_default=True, help="Page number, from 1.")(function)

    return decorate


def one_of(name: str, allowed: tuple[str, ...]) -> Callable[[click.Context, click.Parameter, str], str]:
    """A check with the documented words: the value of option `name` must be one of `allowed`."""

    def check(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
        if value not in allowed:
            raise click.BadParameter(f"{name} must be one of {', '.join(allowed)}")
        return value

    return check


def download_timeout_option() -> Decorator[_Fn]:
    """`--download-timeout`: accepted for scripts written for 0.2.25; our downloads wait for no export job."""
    kind = click.FloatRange(min=1)
    text = "Accepted for compatibility: nothing has to be prepared before a download."
    return click.option("--download-timeout", type=kind, default=None, metavar="SECONDS", hidden=True, help=text)
