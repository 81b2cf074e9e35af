"""The command tree as a completion script needs it: which words may stand where, read once from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import click

from benchloop_client.cli.options import global_options
from benchloop_client.configfile import KEYS

#: What a value is completed with: names of files or folders, `Value.words`, or nothing.
Kind = Literal["files", "folders", "words", "nothing"]
_FILES = frozenset({"FILE", "PATH"})
_FOLDERS = frozenset({"DIR"})
#: The two names of the program.
PROGRAMS = ("bl", "bmcli")
_HELP = ("-h", "--help")


@dataclass(frozen=True, slots=True)
class Value:
    """How the value of an option or an argument is completed."""

    kind: Kind
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One option under all of its names; `value` None for a switch. A `hidden` one is known, but not offered."""

    names: tuple[str, ...]
    value: Value | None
    summary: str
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One command: its `path` below the program, the commands below it with their summaries, its own options, and its arguments."""

    path: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]
    argument: Value | None


@dataclass(frozen=True, slots=True)
class Tree:
    """All commands, the program itself first, and the options that each of them takes."""

    nodes: tuple[Node, ...]
    everywhere: tuple[Option, ...]


def of(root: click.Group) -> Tree:
    """The tree below `root`; loads every command's file."""
    shared = tuple(_option(param) for param in global_options() if isinstance(param, click.Option))
    names = {name for option in shared for name in option.names}
    return Tree(tuple(_nodes(root, click.Context(root), (), names)), (*shared, Option(_HELP, None, "Show help.")))


def _nodes(command: click.Command, ctx: click.Context, path: tuple[str, ...], shared: set[str]) -> Iterator[Node]:
    below = _below(command, ctx)
    hidden_globals = [param for param in command.params if isinstance(param, click.Option) and param.hidden and shared & set(param.opts)]
    own = [_option(param) for param in command.params if isinstance(param, click.Option) and param not in hidden_globals]
    own = [option for option in own if path or not shared & set(option.names)]
    argument = next((_value(param) for param in command.params if isinstance(param, click.Argument)), None)
    yield Node(path, tuple((name, inner.get_short_help_str(90)) for name, inner in below), tuple(own), argument)
    for name, inner in below:
        yield from _nodes(inner, click.Context(inner, parent=ctx, info_name=name), (*path, name), shared)


def _below(command: click.Command, ctx: click.Context) -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return []
    found = [(name, command.get_command(ctx, name)) for name in command.list_commands(ctx)]
    return [(name, inner) for name, inner in found if inner is not None and not inner.hidden]


def _option(param: click.Option) -> Option:
    # A switch that may be given a value, such as `--fail-on-regression [P]`, is complete without one.
    bare = param.is_flag or param.count or bool(param.metavar and param.metavar.startswith("["))
    summary = (param.help or "").partition("  [")[0]
    return Option((*param.opts, *param.secondary_opts), None if bare else _value(param), summary, param.hidden)


def _value(param: click.Parameter) -> Value:
    if isinstance(param.type, click.Choice):
        return Value("words", tuple(map(str, param.type.choices)))
    metavar = param.metavar or (param.name or "").upper()
    if isinstance(param.type, click.Path) or metavar in _FILES:
        return Value("files")
    if metavar in _FOLDERS:
        return Value("folders")
    if isinstance(param, click.Argument) and metavar.strip("[].").partition(" ")[0] == "KEY":
        return Value("words", tuple(KEYS))
    return Value("nothing")
