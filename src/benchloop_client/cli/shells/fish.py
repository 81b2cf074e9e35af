"""Completion for fish, as one static script with a sentence beside each word."""

from __future__ import annotations

from collections.abc import Iterator

from benchloop_client.cli.shells.bash import valued
from benchloop_client.cli.shells.tree import PROGRAMS, Node, Option, Tree, Value

_HEAD = """\
# Completion of bl and bmcli for fish: `bl completion fish > ~/.config/fish/completions/bl.fish`, or `bl completion fish | source`.
# Written by `bl completion fish`; starts no program when a key is pressed.
"""

_BODY = """\
# True at the command that the words after it name; options and their values are passed over.
function __bl_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l at
    set -l valued (__bl_valued)
    set -l skip 0
    for word in $words
        if test $skip -eq 1
            set skip 0
        else if contains -- $word $valued
            set skip 1
        else if contains -- "$at $word" $__bl_places
            set -a at $word
            set valued (__bl_valued $at)
        end
    end
    test "$at" = "$argv"
end
"""


def script(tree: Tree) -> str:
    """The whole script."""
    program = PROGRAMS[0]
    places = " ".join(f"'{' '.join(node.path[:-1])} {node.path[-1]}'" for node in tree.nodes if node.path)
    lines = [_HEAD, f"set -g __bl_places {places}", ""]
    lines += [*_valued_options(tree), "", _BODY, f"complete -c {program} -f"]
    lines += [f"complete -c {program} {_named(option)}" for option in tree.everywhere]
    for node in tree.nodes:
        lines += [f"complete -c {program} {rule}" for rule in _rules(node)]
    return "\n".join([*lines, *(f"complete -c {other} -w {program}" for other in PROGRAMS[1:]), ""])


def _valued_options(tree: Tree) -> Iterator[str]:
    yield "# The options of a command that take a value."
    yield "function __bl_valued"
    yield '    switch "$argv"'
    for node in tree.nodes:
        yield f"        case '{' '.join(node.path)}'"
        yield f"            printf '%s\\n' {valued((*node.options, *tree.everywhere))}"
    yield "    end"
    yield "end"


def _rules(node: Node) -> Iterator[str]:
    at = f"-n '__bl_at {' '.join(node.path)}'" if node.path else "-n __bl_at"
    for name, summary in node.commands:
        yield f"{at} -a {name} -d {_quoted(summary)}"
    for option in node.options:
        if not option.hidden:
            yield f"{at} {_named(option)}"
    if node.argument is not None and node.argument.kind != "nothing":
        yield f"{at} {_completed(node.argument, needed=False)}"


def _named(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    value = f" {_completed(option.value, needed=True)}" if option.value is not None else ""
    return f"{' '.join(names)}{value} -d {_quoted(option.summary)}"


def _completed(value: Value, *, needed: bool) -> str:
    """How a value is completed; `needed`: the option is nothing without it."""
    if value.kind == "files":
        return "-r -F" if needed else "-F"
    words = {"folders": "(__fish_complete_directories)", "words": " ".join(value.words), "nothing": ""}[value.kind]
    return ("-x" if needed else "") + (f" -a {_quoted(words)}" if words else "")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
