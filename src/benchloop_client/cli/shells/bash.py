"""Completion for bash 3.2 and later, as one static script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchloop_client.cli.shells.tree import PROGRAMS, Node, Option, Tree, Value

_HEAD = """\
# Completion of bl and bmcli for bash: `source <(bl completion bash)`, or put it where bash-completion looks.
# Written by `bl completion bash`; starts no program when a key is pressed.
"""

_BODY = """\
# Which words are one of the others? "$1": the word, "$2": the others, with spaces around them.
_bl_in() {
    case " $2 " in *" $1 "*) return 0 ;; esac
    return 1
}

_bl_files() {
    local found
    compopt -o filenames 2>/dev/null
    while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen "$1" -- "${cur/#\\~\\//$HOME/}")
}

_bl_words() {
    local found
    while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -W "$1" -- "$cur")
}

_bl_value() {
    case "$1" in
        files) _bl_files -f ;;
        folders) _bl_files -d ;;
        words:*) _bl_words "${1#words:}" ;;
    esac
}

_bl_complete() {
    local cur="${COMP_WORDS[COMP_CWORD]}" at="" word before="" i=1
    local commands options valued argument
    COMPREPLY=()
    _bl_at ""
    while [ "$i" -lt "$COMP_CWORD" ]; do
        word="${COMP_WORDS[i]}"
        before=""
        if _bl_in "$word" "$valued"; then
            before="$word"
            # bash cuts --option=value into three words.
            [ "${COMP_WORDS[i + 1]}" = "=" ] && [ "$((i + 1))" -lt "$COMP_CWORD" ] && i=$((i + 1))
            i=$((i + 1))
            [ "$i" -lt "$COMP_CWORD" ] && before=""
        elif _bl_in "$word" "$commands"; then
            at="$at/$word"
            _bl_at "$at"
        fi
        i=$((i + 1))
    done
    if [ -n "$before" ]; then
        [ "$cur" = "=" ] && cur=""
        _bl_value "$(_bl_kind "$at" "$before")"
        return 0
    fi
    case "$cur" in
        -*) _bl_words "$options" ;;
        *) if [ -n "$commands" ]; then _bl_words "$commands"; else _bl_value "$argument"; fi ;;
    esac
}

"""


def script(tree: Tree) -> str:
    """The whole script."""
    lines = [_HEAD, *_places(tree), "", *_kinds(tree), "", _BODY.rstrip("\n"), ""]
    return "\n".join([*lines, f"complete -F _bl_complete {' '.join(PROGRAMS)}", ""])


def _places(tree: Tree) -> Iterator[str]:
    yield "# What may stand below a command: sets commands, options, valued (options with a value) and argument."
    yield "_bl_at() {"
    yield f'    local shared="{_offered(tree.everywhere)}" shared_valued="{valued(tree.everywhere)}"'
    yield '    case "$1" in'
    for node in tree.nodes:
        yield f'        "{key(node)}")'
        yield f'            commands="{" ".join(name for name, _ in node.commands)}"'
        yield f'            options="{_offered(node.options)} $shared"'
        yield f'            valued="{valued(node.options)} $shared_valued"'
        yield f'            argument="{word(node.argument)}" ;;'
    yield "    esac"
    yield "}"


def _kinds(tree: Tree) -> Iterator[str]:
    yield "# What the value of an option is: $1 the command, $2 the option."
    yield "_bl_kind() {"
    yield '    case "$1 $2" in'
    for node in tree.nodes:
        for option in node.options:
            yield from _kind(option, f'"{key(node)} ', '"')
    for option in tree.everywhere:
        yield from _kind(option, '*" ', '"')
    yield "    esac"
    yield "}"


def _kind(option: Option, before: str, after: str) -> Iterator[str]:
    spelled = word(option.value)
    if spelled:
        patterns = "|".join(f"{before}{name}{after}" for name in option.names)
        yield f'        {patterns}) echo "{spelled}" ;;'


def key(node: Node) -> str:
    """A command's place as the script spells it: `/groups/list`."""
    return "".join(f"/{name}" for name in node.path)


def _offered(options: Iterable[Option]) -> str:
    return " ".join(name for option in options if not option.hidden for name in option.names)


def valued(options: Iterable[Option]) -> str:
    """The names of those options that take a value."""
    return " ".join(name for option in options if option.value is not None for name in option.names)


def word(value: Value | None) -> str:
    """The kind of a value as the script spells it, empty for what cannot be completed."""
    if value is None or value.kind == "nothing":
        return ""
    return f"words:{' '.join(value.words)}" if value.kind == "words" else value.kind
