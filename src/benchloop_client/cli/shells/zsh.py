"""Completion for zsh, as one static script with a sentence beside each word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchloop_client.cli.shells.bash import key, valued, word
from benchloop_client.cli.shells.tree import PROGRAMS, Node, Option, Tree

_HEAD = f"""\
#compdef {" ".join(PROGRAMS)}
# Completion of bl and bmcli for zsh: `bl completion zsh > ~/.zfunc/_bl` (a folder of $fpath), or `source <(bl completion zsh)`.
# Written by `bl completion zsh`; starts no program when a key is pressed.
"""

_BODY = """\
_bl_value() {
    case $1 in
        files) _files ;;
        folders) _files -/ ;;
        words:*) compadd -- ${=1#words:} ;;
    esac
}

_bl() {
    local at= word before= i=2
    local -a commands options valued
    local argument
    _bl_at ''
    while (( i < CURRENT )); do
        word=$words[i]
        before=
        if (( ${valued[(Ie)$word]} )); then
            (( i++ ))
            (( i < CURRENT )) || before=$word
        elif (( ${commands[(I)${(b)word}:*]} )); then
            at=$at/$word
            _bl_at "$at"
        fi
        (( i++ ))
    done
    if [[ -z $before && $PREFIX == --*=* ]]; then
        before=${PREFIX%%=*}
        compset -P '*='
    fi
    if [[ -n $before ]]; then
        _bl_value "$(_bl_kind "$at" "$before")"
    elif [[ $PREFIX == -* ]]; then
        _describe -o option options
    elif (( $#commands )); then
        _describe command commands
    else
        _bl_value "$argument"
    fi
}
"""


def script(tree: Tree) -> str:
    """The whole script."""
    end = f'if [[ $funcstack[1] == _bl ]]; then\n    _bl "$@"\nelse\n    compdef _bl {" ".join(PROGRAMS)}\nfi\n'
    return "\n".join([_HEAD, *_places(tree), "", *_kinds(tree), "", _BODY, end])


def _places(tree: Tree) -> Iterator[str]:
    yield "# What may stand below a command: sets commands, options, valued (options with a value) and argument."
    yield "_bl_at() {"
    yield f"    local -a shared=({_described(tree.everywhere)})"
    yield f"    local -a shared_valued=({valued(tree.everywhere)})"
    yield "    case $1 in"
    for node in tree.nodes:
        yield from _place(node)
    yield "    esac"
    yield "}"


def _place(node: Node) -> Iterator[str]:
    yield f"        '{key(node)}')"
    yield f"            commands=({' '.join(_entry(name, summary) for name, summary in node.commands)})"
    yield f"            options=({_described(node.options)} $shared)"
    yield f"            valued=({valued(node.options)} $shared_valued)"
    yield f"            argument='{word(node.argument)}' ;;"


def _kinds(tree: Tree) -> Iterator[str]:
    yield "# What the value of an option is: $1 the command, $2 the option."
    yield "_bl_kind() {"
    yield '    case "$1 $2" in'
    rows = [(f"'{key(node)}'", option) for node in tree.nodes for option in node.options] + [("*", option) for option in tree.everywhere]
    for at, option in rows:
        if word(option.value):
            patterns = "|".join(f"{at}' {name}'" for name in option.names)
            yield f"        {patterns}) print -r -- '{word(option.value)}' ;;"
    yield "    esac"
    yield "}"


def _described(options: Iterable[Option]) -> str:
    return " ".join(_entry(name, option.summary) for option in options if not option.hidden for name in option.names)


def _entry(name: str, summary: str) -> str:
    text = f"{name}:{summary.replace(chr(92), '').replace(':', chr(92) + ':')}" if summary else name
    return "'" + text.replace("'", "'\\''") + "'"
