"""`bl config`: the local configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli import session as sessions
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.plain_table import rows_as_text
from benchloop_client.cli.session import Session
from benchloop_client.cli.stdin import read_key
from benchloop_client.configfile import DEFAULT_PROFILE, KEYS, config_path, heading

if TYPE_CHECKING:
    from benchloop_client import profile, settings
else:
    profile = lazy("benchloop_client.profile")
    settings = lazy("benchloop_client.settings")

NOTHING_GIVEN = "provide at least one of --api-key/--host/--output-dir"
_NAMES = ", ".join(KEYS)


@click.group(name="config", cls=options.Resource)
def command() -> None:
    """The local configuration file."""


def _config_option() -> options.Decorator:
    return click.option("--config", metavar="FILE", help="The file (default ~/.benchloop/config.toml).")


def _key_argument(*, required: bool, many: bool = False) -> options.Decorator:
    """A key's name, checked against the table of keys."""

    def check(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        names = value if many else (value,)
        for name in names:
            if name is not None and name not in KEYS:
                raise click.BadParameter(f"there is no key {name!r}; the keys are {_NAMES}")
        return value

    nargs = -1 if many else 1
    return click.argument("keys" if many else "key", nargs=nargs, required=required, metavar="KEY..." if many else "KEY", callback=check)


@command.command(name="set", cls=options.Leaf, example="bl config set --host http://127.0.0.1:8700 --api-key-stdin < key.txt")
@click.argument("pair", nargs=-1, metavar="[KEY VALUE]")
@click.option("--api-key", metavar="TEXT", help="Key to store; '-' reads it from stdin.")
@click.option("--api-key-stdin", is_flag=True, help="Read the key from stdin.")
@click.option("--api-key-prompt", is_flag=True, help="Ask for the key; it is not shown.")
@click.option("--host", metavar="TEXT", help="Base URL of the server.")
@click.option("-o", "--output-dir", metavar="DIR", help="Download root.")
@click.option("--allow-http/--no-allow-http", default=None, help=KEYS["allow_http"].text)
@click.option("--cacert", metavar="FILE", help=KEYS["cacert"].text)
@click.option("--proxy", metavar="URL", help=KEYS["proxy"].text)
@click.option("--timeout", type=float, metavar="SECONDS", help=KEYS["timeout"].text)
@click.option("--retry", type=int, metavar="N", help=KEYS["retry"].text)
@click.option("--concurrency", type=int, metavar="N", help=KEYS["concurrency"].text)
@click.option("--update-check/--no-update-check", default=None, help=KEYS["update_check"].text)
@_config_option()
@ask.with_session
def set_(session: Session, *, pair: tuple[str, ...], config: str | None, **values: Any) -> int:
    """Store values; everything else in the file stays as it is.

    Without any, a person at a terminal is asked for host and key. `--profile NAME` stores in [profile.NAME].
    """
    path, name = _place(session, config)
    changes = {key: values[key] for key in KEYS if values.get(key) not in (None, "")}
    if values["api_key_stdin"] or values["api_key_prompt"] or values["api_key"] == "-" or session.has_key_on_stdin:
        changes["api_key"] = _secret_key(session, values)
    elif "api_key" in changes:
        session.output.warning(sessions.KEY_IN_SIGHT)
    changes.update(_paired(session, pair))
    if not changes:
        changes = _asked(session)
    profile.save(path, changes, profile=name)
    session.output.note(f"wrote config to {path}" + ("" if name == DEFAULT_PROFILE else f" {heading(name)}"))
    return 0


@command.command(cls=options.Leaf, example="bl config get host")
@_key_argument(required=True)
@click.option("--show-key", is_flag=True, help="Print the API key itself.")
@_config_option()
@ask.with_session
def get(session: Session, *, key: str, show_key: bool, config: str | None) -> int:
    """Print the value that counts now, wherever it comes from; exit 1 if there is none. The API key is masked."""
    value = _resolved(session, config)[key]
    if value is None:
        session.output.error(f"{key} is not set")
        return 1
    _print(session, f"{value if key == 'api_key' and show_key else _shown(key, value)}\n")
    return 0


@command.command(name="list", cls=options.Leaf, example="bl config list --profile staging")
@options.print_options(default="table on a terminal, else json")
@_config_option()
@ask.with_session
def list_(session: Session, *, config: str | None) -> int:
    """Every value that counts now and where it comes from: a flag, a variable, the file, or the default. Keys are masked.

    A table on a terminal, else one JSON array.
    """
    found = _resolved(session, config)
    rows = [(key, None if value.value is None else _shown(key, value.value), value.source) for key, value in found.values.items()]
    if session.given.get("fields") or (session.given.get("format") or ("table" if session.on_terminal else "json")) != "table":
        return ask.print_values(session, [{"key": key, "value": value, "source": source} for key, value, source in rows])
    cells = [(key, "-" if value is None else _plain(value), source) for key, value, source in rows]
    _print(session, rows_as_text(cells, ("KEY", "VALUE", "FROM")))
    others = [name for name in found.file.names if name != found.profile]
    if others:
        session.output.note(f"other profiles in {found.file.path}: {', '.join(others)}")
    return 0


@command.command(cls=options.Leaf, example="bl config unset proxy cacert")
@_key_argument(required=False, many=True)
@click.option("--all", "everything", is_flag=True, help="Take the whole profile out.")
@_config_option()
@ask.with_session
def unset(session: Session, *, keys: tuple[str, ...], everything: bool, config: str | None) -> int:
    """Take keys out of the file, of [profile] or of the profile named by `--profile`."""
    if bool(keys) == everything:
        raise click.UsageError("name the keys to take out, or --all for the whole profile")
    path, name = _place(session, config)
    if everything:
        profile.remove_profile(path, name)
        session.output.note(f"took {heading(name)} out of {path}")
        return 0
    found = profile.remove(path, keys, profile=name)
    for key in keys:
        session.output.note(f"took {key} out of {path}" if key in found else f"{key} was not set in {path} {heading(name)}")
    return 0


@command.command(cls=options.Leaf, example="bl config path")
@_config_option()
@ask.with_session
def path(session: Session, *, config: str | None) -> int:
    """Print where the configuration file is, whether it exists or not."""
    _print(session, f"{config_path(config or session.given.get('config'))}\n")
    return 0


def _place(session: Session, config: str | None) -> tuple[Any, str]:
    """File and profile to change."""
    return config_path(config or session.given.get("config")), settings.profile_name(session.given.get("profile"))


def _resolved(session: Session, config: str | None) -> settings.Resolved:
    if config:
        session.given["config"] = config
    return settings.resolve(session.flags)


def _secret_key(session: Session, values: dict[str, Any]) -> str:
    ways = [values["api_key"] not in (None, "", "-"), values["api_key_prompt"], values["api_key_stdin"] or values["api_key"] == "-"]
    if sum(map(bool, ways)) > 1:
        raise click.UsageError("--api-key, --api-key-stdin and --api-key-prompt are mutually exclusive")
    if values["api_key_prompt"]:
        return session.ask_hidden("API key: ")
    if session.has_key_on_stdin:
        return str(session.flags.api_key)
    return read_key(session.env.stdin, session.output.note)


def _paired(session: Session, pair: tuple[str, ...]) -> dict[str, object]:
    if not pair:
        return {}
    if len(pair) != 2:
        raise click.UsageError("give one KEY and its VALUE, or options")
    key, text = pair
    if key == "api_key":
        session.output.warning(sessions.KEY_IN_SIGHT)
    return {key: profile.typed(key, text)}


def _asked(session: Session) -> dict[str, object]:
    """Host and key as a person at the terminal types them. Raises `click.BadParameter`, as documented, where nobody can be asked."""
    if not session.interactive:
        raise click.BadParameter(NOTHING_GIVEN)
    given = {
        "host": session.ask_line("Host (empty: leave as it is): "),
        "api_key": session.ask_hidden("API key (not shown; empty: leave): "),
    }
    changes: dict[str, object] = {name: value for name, value in given.items() if value}
    if not changes:
        raise click.BadParameter(NOTHING_GIVEN)
    return changes


def _shown(key: str, value: object) -> object:
    """A value without its secret."""
    if key == "api_key":
        return settings.masked(str(value))
    if key == "proxy":
        return str(value).rsplit("@", 1)[-1]
    return value


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _print(session: Session, text: str) -> None:
    with session.output.flushed():
        session.output.data(text.encode("utf-8", "replace"))
