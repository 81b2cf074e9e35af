"""The tables by which calls and their outputs are understood: programs, tools, errors. Each is made of the value of a YAML text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from benchloop_analysis import packaged
from benchloop_analysis.records import Kind


class _Programs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kinds: dict[Kind, str]
    subcommands: dict[str, dict[str, Kind]]
    modules: dict[str, Kind]
    wrappers: frozenset[str]
    wrapper_values: frozenset[str]
    shells: frozenset[str]
    keywords: frozenset[str]
    interactive: frozenset[str]
    interactive_bare: frozenset[str]
    servers: frozenset[str]
    order: list[Kind]


class Programs:
    """What programs do. `kind(program, words)` is one look-up; `rank` orders kinds by how much a call is about them."""

    def __init__(self, value: Any) -> None:
        data = msgspec.convert(value, _Programs, str_keys=True)
        self.kinds = inverted(words(data.kinds))
        self.subcommands = data.subcommands
        self.modules = data.modules
        self.wrappers, self.wrapper_values = data.wrappers, data.wrapper_values
        self.shells, self.keywords = data.shells, data.keywords
        self.interactive, self.interactive_bare, self.servers = data.interactive, data.interactive_bare, data.servers
        self.rank = {kind: place for place, kind in enumerate(data.order)}


class _ByArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    argument: str
    kinds: dict[str, Kind]


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: list[str]
    path: list[str]
    content: list[str]


class _Tools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    shell: frozenset[str]
    arguments: _Arguments
    kinds: dict[Kind, str]
    by_argument: dict[str, _ByArgument]
    prefixes: dict[Kind, list[str]]
    service_writes: frozenset[Kind]


_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class Tools:
    """What tools do, by name. `named` remembers each name once it was looked up."""

    def __init__(self, value: Any) -> None:
        data = msgspec.convert(value, _Tools, str_keys=True)
        self.shell = data.shell
        self.command, self.path, self.content = data.arguments.command, data.arguments.path, data.arguments.content
        self.by_argument = data.by_argument
        self._kinds = inverted(words(data.kinds))
        self._prefixes = inverted(data.prefixes)
        self._known: dict[str, tuple[Kind, bool]] = {}

    def named(self, name: str) -> tuple[Kind, bool]:
        """The kind of the tool, and whether it is known from a list (not only from its first word)."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._look_up(name)
        return found

    def kind(self, name: str, arguments: Mapping[str, Any]) -> Kind:
        """The kind of one call."""
        several = self.by_argument.get(name.lower())
        if several is not None:
            chosen = several.kinds.get(str(arguments.get(several.argument)))
            if chosen is not None:
                return chosen
        return self.named(name)[0]

    def _look_up(self, name: str) -> tuple[Kind, bool]:
        lower = name.lower()
        for form in (lower, lower.rpartition("__")[2], lower.rpartition(".")[2]):
            if form in self._kinds:
                return self._kinds[form], True
        first = _WORD.findall(name.rpartition("__")[2])[:1]
        return (self._prefixes.get(first[0].lower(), "other") if first else "other"), False


class _ErrorClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    texts: list[str]
    strong: bool


class _Errors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    classes: dict[str, _ErrorClass]
    begins: list[str]
    exit_codes: list[str]
    codes: dict[int, str]
    truncated: list[str]
    empty: list[str]


class Errors:
    """How errors, exit codes and cut outputs look."""

    def __init__(self, value: Any) -> None:
        data = msgspec.convert(value, _Errors, str_keys=True)
        self.classes = tuple((name, tuple(entry.texts)) for name, entry in data.classes.items())
        self.strong = tuple((name, tuple(entry.texts)) for name, entry in data.classes.items() if entry.strong)
        self.begins = tuple(data.begins)
        self.exit_codes = tuple(re.compile(pattern) for pattern in data.exit_codes)
        self.codes = data.codes
        self.truncated = tuple(data.truncated)
        self.empty = frozenset(data.empty)


class Tables(msgspec.Struct, frozen=True):
    """The three tables together."""

    programs: Programs
    tools: Tools
    errors: Errors


@cache
def default() -> Tables:
    """The tables that come with the package."""
    read = packaged.value
    return Tables(Programs(read("data/programs.yaml")), Tools(read("data/tools.yaml")), Errors(read("data/errors.yaml")))


def words(lists: Mapping[Kind, str]) -> dict[Kind, list[str]]:
    """Kind → its names, which stand in one text: a text is read many times faster than a list of words."""
    return {kind: text.split() for kind, text in lists.items()}


def inverted(lists: Mapping[Kind, Iterable[str]]) -> dict[str, Kind]:
    """Name → kind. Raises `ValueError` for a name that stands under two kinds."""
    found: dict[str, Kind] = {}
    for kind, listed in lists.items():
        for name in listed:
            if found.setdefault(name, kind) != kind:
                raise ValueError(f"{name!r} stands under {found[name]} and under {kind}")
    return found
