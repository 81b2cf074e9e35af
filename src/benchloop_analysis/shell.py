"""A shell command as the programs it starts: taken apart at `&&`, `;`, `|` and newlines, each classified by the table of programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from benchloop_analysis.records import Command, Kind
from benchloop_analysis.tables import Programs

#: Longer commands are read up to here, after their here-documents were taken out.
LONGEST = 20_000
_DEPTH = 3

_HEREDOC = re.compile(r"<<-?[ \t]*(?:\\?([\w.]+)|'([^'\n]+)'|\"([^\"\n]+)\")")
_QUOTES = r"'[^']*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|`[^`]*`"
_PIECE = rf"\$\([^()]*(?:\([^()]*\)[^()]*)*\)|[^ \t\r\n;&|<>()'\"\\`$]+|{_QUOTES}|\\.|\$\{{[^}}\n]*\}}|\$|\\|['\"`]"
# No repetition inside a repetition: agents write thousands of blanks in a row.
_TOKEN = re.compile(
    rf"(?:[ \t\r]|\\\n)*(?:(?P<comment>(?<![^\s;])\#[^\n]*)|(?P<redirect>(?:\d+|&)?>>?\|?(?:&(?:\d+|-))?|\d*<<<|<<-?|\d*<>?)"
    rf"|(?P<end>&&|\|\||;;|\|&|[;&|\n()])|(?P<word>(?:{_PIECE})+))",
    re.DOTALL,
)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"\\]*(?:\\.[^\"\\]*)*)\"|\\(.)", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_PATH = re.compile(r"(?:[~.]{0,2}/)?[\w.@%+~-]*(?:/[\w.@%+~-]+)*/?\Z")
_SUFFIX = re.compile(r"[\w-]\.[A-Za-z][\w]{0,9}\Z")
_SUBSTITUTION = re.compile(r"[sy]/[^/]*/.*/\w*\Z")
_TEST_FILE = re.compile(
    r"(?:^|/)(?:run[_-]?)?tests?(?:[_.\-/]|$)|_test\.\w+$|\.test\.\w+$|\.spec\.\w+$|(?:^|/)(?:eval|check|verify)\w*\.(?:py|sh|js)$",
    re.IGNORECASE,
)
#: `-c` and what it is written together with, as in `bash -lc`.
_RUNS_TEXT = re.compile(r"-[a-z]*c\Z")
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_WRITES_LAST = frozenset({"cp", "mv", "ln", "install", "rsync", "scp"})
_WRITES_ALL = frozenset({"touch", "tee", "truncate", "rm", "rmdir", "unlink", "shred"})


def commands(text: str, programs: Programs) -> tuple[Command, ...]:
    """Every program that `text` starts, in order, at most three shells deep. A text that is no shell gives what can be made of it."""
    return tuple(_commands(text, programs, 0))


def main_kind(found: tuple[Command, ...], programs: Programs) -> Kind:
    """What the whole call is about."""
    if not found:
        return "noop"
    return min((command.kind for command in found), key=lambda kind: programs.rank.get(kind, 99))


def looks_like_path(word: str) -> bool:
    """Whether a word names a file: it holds a slash or ends in a suffix, and is no option, address or pattern."""
    if not 1 < len(word) < 300 or word[0] in "-$%@" or "://" in word or _SUBSTITUTION.match(word):
        return False
    return ("/" in word or _SUFFIX.search(word) is not None) and _PATH.match(word) is not None and word.strip("./") != ""


def _commands(text: str, programs: Programs, depth: int) -> Iterator[Command]:
    for words, writes, background in _simple(_without_heredocs(text)[:LONGEST]):
        yield from _command(words, writes, background, programs, depth)


def _without_heredocs(text: str) -> str:
    """The text without the bodies of its here-documents: those are input, not commands."""
    at = 0
    while (match := _HEREDOC.search(text, at)) is not None:
        if text[match.start() - 1 : match.start()] == "<" or text[match.start() : match.start() + 3] == "<<<":
            at = match.end()
            continue
        delimiter = next(filter(None, match.groups()), "")
        body = text.find("\n", match.end())
        if body < 0:
            break
        end = re.compile(rf"^[ \t]*{re.escape(delimiter)}[ \t]*$", re.MULTILINE).search(text, body + 1)
        text = text[:body] + (text[end.end() :] if end is not None else "")
        at = match.end()
    return text


def _simple(text: str) -> Iterator[tuple[list[str], list[str], bool]]:
    """The words, the targets of redirections and whether it runs behind, of each simple command."""
    words: list[str] = []
    writes: list[str] = []
    target = ""
    for match in _TOKEN.finditer(text.rstrip()):
        kind = match.lastgroup
        if kind == "word":
            word = _plain(match.group("word"))
            if not target:
                words.append(word)
            elif target == "out" and word not in _NOWHERE:
                writes.append(word)
            target = ""
        elif kind == "redirect":
            sign = match.group("redirect")
            target = "" if "&" in sign[1:] else "out" if ">" in sign else "in"
        elif kind == "end":
            if words or writes:
                yield words, writes, match.group("end") == "&"
            words, writes, target = [], [], ""
    if words or writes:
        yield words, writes, False


def _plain(word: str) -> str:
    if not ("'" in word or '"' in word or "\\" in word):
        return word
    return _QUOTED.sub(lambda match: match.group(1) or match.group(2) or match.group(3) or "", word)


def _command(words: list[str], writes: list[str], background: bool, programs: Programs, depth: int) -> Iterator[Command]:
    words = _unwrapped(words, programs)
    if not words:
        if writes:
            yield Command(program=">", words=(), kind="write", paths=tuple(writes), writes=tuple(writes))
        return
    if words[0] in {"for", "case", "select"}:
        return
    program = words[0].rpartition("/")[2] or words[0]
    rest = words[1:]
    option = next((place for place, word in enumerate(rest[:3]) if _RUNS_TEXT.match(word)), None)
    if program in programs.shells and option is not None and depth < _DEPTH:
        inner = rest[option + 1 :]
        for command in _commands(inner[0] if inner else "", programs, depth + 1):
            yield msgspec.structs.replace(command, background=True) if background else command
        return
    yield _classified(program, words, writes, background, programs)


def _unwrapped(words: list[str], programs: Programs) -> list[str]:
    """The words from the program on: without assignments, keywords of the shell's grammar, and programs that only start another."""
    at = 0
    while at < len(words):
        word = words[at]
        if word in programs.keywords or _ASSIGNMENT.match(word):
            at += 1
        elif word in programs.wrappers and _has_command(words, at + 1):
            at = _after_wrapper(words, at + 1, programs)
        else:
            break
    return words[at:]


def _has_command(words: list[str], at: int) -> bool:
    return any(not word.startswith("-") for word in words[at:])


def _after_wrapper(words: list[str], at: int, programs: Programs) -> int:
    wrapper = words[at - 1]
    while at < len(words) - 1:
        word = words[at]
        if word in programs.wrapper_values:
            at += 2
        elif word.startswith("-") or _ASSIGNMENT.match(word) or (wrapper in {"timeout", "watch", "chroot"} and word[:1].isdigit()):
            at += 1
        else:
            break
    return at


def _classified(program: str, words: list[str], writes: list[str], background: bool, programs: Programs) -> Command:
    rest = words[1:]
    kind = _kind(program, words[0], rest, programs)
    if writes and kind in {"read", "other", "noop", "list", "search"}:
        kind = "write"
    elif program in {"sed", "perl"}:
        kind = _stream_editor(program, rest, kind)
    paths = tuple(word for word in rest if looks_like_path(word))
    return Command(
        program=program,
        words=tuple(rest),
        kind=kind,
        paths=paths + tuple(writes),
        writes=_written(program, kind, rest, paths) + tuple(writes),
        background=background,
    )


def _stream_editor(program: str, rest: list[str], kind: Kind) -> Kind:
    if any(word.startswith(("-i", "--in-place", "-pi")) for word in rest):
        return "edit"
    return "read" if program == "sed" else kind


def _kind(program: str, called: str, rest: list[str], programs: Programs) -> Kind:
    first = next((word for word in rest if not word.startswith("-")), "")
    known = programs.kinds.get(program) or programs.kinds.get(program.rstrip("0123456789."))
    if program.startswith(("python", "pypy")) and known == "run":
        return _python(rest, programs)
    several = programs.subcommands.get(program)
    if several is not None:
        option = rest[0] if rest else ""
        chosen = several.get(option) or several.get(first) or (several.get("*") if rest else None)
        if chosen is not None:
            return chosen
        if program in {"npm", "yarn", "pnpm"} and "test" in " ".join(rest[:3]):
            return "test"
    if known is None or program in programs.shells or program in {"node", "ruby", "Rscript", "source", "."}:
        return _script(called if known is None else first, known)
    return known


def _python(rest: list[str], programs: Programs) -> Kind:
    if rest[:1] == ["-m"] or (rest and rest[0].startswith("-") and "-m" in rest[:3]):
        after = rest[rest.index("-m") + 1 :]
        name = after[0] if after else ""
        return programs.modules.get(name) or programs.modules.get(name.partition(".")[0], "run")
    script = next((word for word in rest if not word.startswith("-")), "")
    return "test" if script.endswith(".py") and _TEST_FILE.search(script) and "-c" not in rest else "run"


def _script(called: str, known: Kind | None) -> Kind:
    if looks_like_path(called):
        return "test" if _TEST_FILE.search(called) else "run"
    return known or "other"


def _written(program: str, kind: Kind, rest: list[str], paths: tuple[str, ...]) -> tuple[str, ...]:
    """Files that a program changes by itself, as far as its words tell."""
    names = [word for word in rest if not word.startswith("-")]
    if program in _WRITES_LAST and len(names) > 1:
        return (names[-1],)
    if program in _WRITES_ALL:
        return tuple(names)
    if kind == "edit":
        return paths[-1:]
    if program in {"gcc", "g++", "cc", "clang", "curl", "wget", "rustc"}:
        return tuple(after for option, after in pairwise(rest) if option in {"-o", "-O", "--output"} and after[:1] != "-")
    return ()
