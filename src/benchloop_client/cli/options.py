"""The options that several commands share, so that a flag means one thing everywhere; global ones work before and after the resource."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from benchloop_client._rate import parse_rate
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import FORMATS, TEXT, Session
from benchloop_client.contract.outcome import OUTCOMES

if TYPE_CHECKING:
    from benchloop_client.actions import selection
else:
    selection = lazy("benchloop_client.actions.selection")

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

_USAGE = 2
_SENTENCE = 200
_MANY = "repeatable, comma list, '-' for stdin, '@FILE'"

EXIT_CODES = "0 done; 1 an item failed; 2 wrong usage; 3 the key was refused (401); 4 the server could not be reached; 130 interrupted."
_GLOBALS = "--host, --profile, --timeout and the others of `bl --help` are accepted here too."


def _rate(text: str) -> float:
    try:
        return parse_rate(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    name = param.name or ""
    if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        session = ctx.find_object(Session)
        if session is not None:
            _note(session, name, value)
    return value


def _note(session: Session, name: str, value: Any) -> None:
    if name == "api_key_stdin" or (name == "api_key" and value == "-"):
        session.take_key_from_stdin()
    else:
        session.given[name] = value


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    """Fresh copies of the global options; `hidden` ones work but are left out of a command's help."""

    def option(*names: str, **settings: Any) -> click.Option:
        return click.Option(list(names), expose_value=False, callback=_remember, hidden=hidden, **settings)

    return [
        option("--api-key", metavar="TEXT", help="Key for the server (wins over environment and config file)."),
        option("--api-key-stdin", is_flag=True, default=None, help="Read the key from stdin."),
        option("--host", metavar="TEXT", help="Base URL of the server."),
        option("-o", "--output-dir", metavar="DIR", help="Download root (default '.')."),
        option("--pretty/--no-pretty", default=None, help="Indent JSON by two spaces, or write it compactly.  [default: pretty]"),
        option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Longest wait for the server each time.  [default: 300]",
        ),
        option(
            "--deadline",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Longest time for everything together; the next run goes on.  [default: none]",
        ),
        option("--retry", type=int, metavar="N", help="How often a failed request is repeated.  [default: 2]"),
        option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Requests at once, at most.  [default: adaptive]"),
        option("--limit-rate", type=_rate, metavar="RATE", help="Bytes a second at most, over all transfers: 500k, 2M."),
        option("-v", "--verbose", count=True, help="Show each request on stderr, with status and time."),
        option("-q", "--quiet", is_flag=True, default=None, help="Only errors on stderr."),
        option("--errors", type=click.Choice(("text", "json")), default=None, help="Failures on stderr as text, or a JSON record a line."),
        option("--config", metavar="FILE", help="Config file (default ~/.benchloop/config.toml)."),
        option("--profile", metavar="NAME", help="Take [profile.NAME] of the config file in place of [profile]."),
        option("--fsync", is_flag=True, default=None, help="Sync each file to the disk before it gets its name."),
        option("--allow-http", is_flag=True, default=None, help="Send the key over plain http to a host that is not this machine."),
        option("--cacert", metavar="FILE", help="Trust these certificate authorities (PEM) too."),
        option("--proxy", metavar="URL", help="Go through this http(s) proxy; 'none': through no proxy."),
    ]


class Resource(click.Group):
    """A group of commands that takes the global options too; without arguments it shows its help and ends as a usage error does, whatever
    the version of click. Its help ends as that of its commands does.
    """

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        """`example` is one command line that works as it stands; without it, that of the first command."""
        super().__init__(*args, **kwargs)
        self.example = example
        _add_globals(self)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, with whole sentences."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=_SENTENCE)) for name, command in sorted(self.commands.items())])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Example and exit codes, below the commands."""
        first = next((command.example for command in self.commands.values() if isinstance(command, Leaf)), "")
        _write_end(formatter, self.example or first, globals_too=ctx.parent is not None)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but for the empty command line."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit(_USAGE)
        return super().parse_args(ctx, args)


class Leaf(click.Command):
    """A command that does something: takes the global options too, and ends its help with an example and the exit codes."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        """`example` is one command line that works as it stands."""
        super().__init__(*args, **kwargs)
        self.example = example
        _add_globals(self)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Example and exit codes, below the options."""
        _write_end(formatter, self.example, globals_too=True)


def _write_end(formatter: click.HelpFormatter, example: str, *, globals_too: bool) -> None:
    if example:
        with formatter.section("Example"):
            formatter.write_text(example)
    with formatter.section("Exit codes"):
        formatter.write_text(EXIT_CODES)
    if globals_too:
        with formatter.section("Global options"):
            formatter.write_text(_GLOBALS)


def _add_globals(command: click.Command) -> None:
    """The global options that the command has not taken for itself, and both spellings of help."""
    command.context_settings.setdefault("help_option_names", ["-h", "--help"])
    taken = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    command.params += [param for param in global_options(hidden=True) if not taken & set(param.opts)]


def target_options(*, task: bool = False) -> Decorator:
    """`-g/--group` and `-j/--job` as `groups` and `jobs` (repeatable, comma lists, `-` for stdin); `--task-id` too with `task`."""
    return _all(group_option(), job_option(), *((task_option(),) if task else ()))


def group_option() -> Decorator:
    """`-g/--group` of commands that never knew jobs."""
    return click.option("-g", "--group", "groups", multiple=True, metavar="ID", help=f"Group id ({_MANY}).")


def job_option(*, hidden: bool = False) -> Decorator:
    """`-j/--job`; `hidden` where it is known only to be refused with a sentence, as documented."""
    return click.option("-j", "--job", "jobs", multiple=True, metavar="ID", hidden=hidden, help=f"Job id ({_MANY}).")


def task_option(*, required: bool = False) -> Decorator:
    """`--task-id`: one download task."""
    return click.option("--task-id", required=required, metavar="ID", help="Download task (see `bl download-tasks create`).")


@dataclass(frozen=True, slots=True)
class Save:
    """What was said about files: the command's own root, and whether files of an earlier run are kept."""

    output_dir: str | None
    skip_existing: bool
    dry_run: bool


def save_options(*, printing: str = "--dry-run") -> Decorator:
    """`-o/--output-dir`, `--skip-existing` and `--dry-run` of everything that writes files, as one argument `save`; `printing` says with
    which options records are printed.
    """
    return _bundle(
        "save",
        Save,
        ("output_dir", "skip_existing", "dry_run"),
        click.option("-o", "--output-dir", metavar="DIR", help="Download root for this command."),
        click.option("--skip-existing", is_flag=True, help="Keep files that an earlier run has fetched and verified."),
        click.option("--dry-run", is_flag=True, help="Fetch and write nothing: print what would be fetched, and how many bytes."),
        print_options(about=f"What {printing} prints."),
    )


def print_options(
    *, about: str = "How records are printed: jsonl, csv and table have a line each.", default: str = FORMATS[0], text: bool = False
) -> Decorator:
    """`--format` and `--fields` of everything that prints records; `Session.style` has what was said. `text`: there are lines for a person
    besides; `default` is only shown.
    """
    form = click.option(
        "--format",
        type=click.Choice((TEXT, *FORMATS) if text else FORMATS),
        expose_value=False,
        callback=_remember,
        help=f"{about}  [default: {default}]",
    )
    fields = click.option(
        "--fields",
        metavar="A,B",
        expose_value=False,
        callback=_remember,
        help="Only these fields (not with json): status,metrics.reward.",
    )
    return _all(form, fields)


def selection_options() -> Decorator:
    """`--status`, `--outcome`, `--task`, `--step`, `--fail-reason`, `--sample` and `--seed` of group downloads as one argument `select`."""
    return _bundle(
        "select",
        _selection,
        ("status", "outcome", "tasks", "steps", "fail_reasons", "sample", "seed"),
        click.option("--status", metavar="A,B", help="Only jobs in one of these states (or with one of these outcomes)."),
        click.option("--outcome", metavar="A,B", help="Only jobs with one of these outcomes: passed, partial, failed, errored, ungraded."),
        click.option("--task", "tasks", multiple=True, metavar="ID", help="Only attempts at this task (repeatable)."),
        click.option("--step", "steps", metavar="N,M", help="Only jobs of these training steps."),
        click.option(
            "--fail-reason", "fail_reasons", multiple=True, metavar="TEXT", help="Only jobs that failed for this reason (repeatable)."
        ),
        click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Of those only N, the same ones each time."),
        click.option("--seed", metavar="TEXT", help="Draw another sample."),
    )


def _selection(**given: Any) -> selection.Selection:
    steps = _words(given["steps"])
    if not all(step.isascii() and step.isdigit() for step in steps):
        raise click.BadParameter(f"--step takes whole numbers with commas between them, not {given['steps']!r}")
    outcomes = _words(given["outcome"])
    if unknown := [word for word in outcomes if word not in OUTCOMES]:
        raise click.BadParameter(f"--outcome {', '.join(unknown)!r} is none of {', '.join(OUTCOMES)}")
    if given["seed"] and not given["sample"]:
        raise click.BadParameter("--seed needs --sample")
    return selection.Selection(
        status=_words(given["status"]),
        outcome=outcomes,
        tasks=tuple(filter(None, map(str.strip, given["tasks"]))),
        steps=tuple(dict.fromkeys(map(int, steps))),
        fail_reasons=tuple(filter(None, map(str.strip, given["fail_reasons"]))),
        sample=given["sample"],
        seed=given["seed"] or None,
    )


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(str.strip, (text or "").split(",")))))


def placeholder_option() -> Decorator:
    """`--no-placeholder`, as argument `placeholder`."""
    text = "A missing archive is a failure; without this an empty one is written, and asked for again next time."
    return click.option("--no-placeholder", "placeholder", flag_value=False, default=True, help=text)


def directory_argument() -> Decorator:
    """DIR: an output directory of earlier downloads, as argument `directory`."""
    kind = click.Path(exists=True, file_okay=False)
    return click.argument("directory", metavar="DIR", type=kind)


def zip_level_option() -> Decorator:
    """`--zip-level`, as argument `level`."""
    kind = click.IntRange(min=0, max=9)
    text = "How hard a ZIP is packed (with --task-id): 0 not at all, 9 as small as it gets."
    return click.option("--zip-level", "level", type=kind, default=1, show_default=True, metavar="0-9", help=text)


def job_filter_options() -> Decorator:
    """`--template`, `--status`, `--instance-id` and what the analysis found of the job list as one argument `filters`."""
    names = ("template", "status", "instance_id")
    texts = [
        click.option(f"--{name.replace('_', '-')}", metavar="TEXT", help=f"Only jobs with this {name.partition('_')[0]}.") for name in names
    ]
    found = ("fail_reason", "sub_fail_reason", "reward_valid")
    texts += [
        click.option("--fail-reason", metavar="A,B", help="Only jobs that failed for one of these reasons."),
        click.option("--sub-fail-reason", metavar="A,B", help="Only jobs that failed for one of these sub-reasons."),
        click.option("--reward-valid", type=click.BOOL, metavar="true|false", help="Only jobs whose reward is valid, or is not."),
    ]
    return _bundle("filters", dict, (*names, *found), *texts)


def task_filter_options() -> Decorator:
    """`--search` and `--status` of the task list as one argument `filters`."""
    search = click.option("--search", metavar="TEXT", help="Only tasks whose id holds this text.")
    status = click.option("--status", metavar="TEXT", help="Only tasks with this status.")
    return _bundle("filters", dict, ("search", "status"), search, status)


def page_size_option(default: int | None = None) -> Decorator:
    """`--page-size`: rows a request, at least 1; without `default` the documented 50, and more for a whole list on a server of ours."""
    text = "Rows a request." if default else "Rows a request.  [default: 50; of a whole list 1000, where the server can]"
    kind = click.IntRange(min=1)
    return click.option("--page-size", type=kind, metavar="N", default=default, show_default=default is not None, help=text)


def page_options() -> Decorator:
    """`--page`, `--page-size` and `--all` of the commands that show one page, as one argument `pages`."""
    page = click.option("--page", type=click.IntRange(min=1), metavar="N", default=1, show_default=True, help="Page number, from 1.")
    everything = click.option("--all", "everything", is_flag=True, help="All pages.")
    return _bundle("pages", dict, ("page", "page_size", "everything"), page, page_size_option(), everything)


def scope_option(*allowed: str, of: str = "a group") -> Decorator:
    """`--scope`: one of `allowed`, or all of them; checked with the documented words. `of` says of what they are parts."""
    choices = (*allowed, "all")

    def check(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
        if value not in choices:
            raise click.BadParameter(f"--scope must be one of {', '.join(choices)}")
        return value

    text = f"Part of {of}: {', '.join(allowed)} or all."
    return click.option("--scope", default="all", show_default=True, metavar="PART", callback=check, help=text)


def download_timeout_option() -> Decorator:
    """`--download-timeout`: accepted for scripts written for 0.2.25; our downloads wait for no export job."""
    kind = click.FloatRange(min=1)
    text = "Accepted for compatibility: nothing has to be prepared before a download."
    return click.option("--download-timeout", type=kind, expose_value=False, metavar="SECONDS", hidden=True, help=text)


def _all(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, in the order in which help shows them."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _bundle(name: str, kind: Callable[..., Any], parts: tuple[str, ...], *decorators: Decorator) -> Decorator:
    """Several options that reach the command as one argument `name`, made by `kind`."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def bundled(*args: Any, **values: Any) -> Any:
            return function(*args, **{name: kind(**{part: values.pop(part) for part in parts})}, **values)

        return _all(*decorators)(bundled)

    return decorate
