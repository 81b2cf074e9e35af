"""What a call writes into files: the path, the new text and the text it replaces, from the arguments of a tool or from a shell command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from benchloop_analysis.records import Command, Event

_MOST = 20_000
_OLD = ("old_string", "old_str", "old_text", "search", "find", "old_source")
_WRITERS = frozenset({"cat", "echo", "printf", "tee", ">", "cp", "mv", "base64", "heredoc"})
_KEEPS_TEXT = frozenset({"cat", "echo", "printf", "tee", ">"})
_BACKUP = re.compile(r"(?:\.(?:bak|backup|orig|old|save)\d*|~)$")
_HEREDOC = re.compile(r"<<-?[ \t]*(?:\\?([\w.]+)|'([^'\n]+)'|\"([^\"\n]+)\")[^\n]*\n")
_PATCHED = re.compile(r"^(?:\*\*\* (?:Update|Add) File: |\+\+\+ (?:b/)?)(\S[^\n\t]*)$", re.MULTILINE)
_OPENED = re.compile(
    r"open\(\s*[rf]?['\"]([^'\"\n]{1,200})['\"]\s*,\s*['\"]([wa])|Path\(\s*['\"]([^'\"\n]{1,200})['\"]\s*\)\s*\.write_(?:text|bytes)\("
)
_PYTHONS = ("python", "pypy", "ipython")


class Change(msgspec.Struct, frozen=True, gc=False):
    """A file that a call would edit. `at` is the place of the command; `in_place`: it has to be there; `whole`: written anew."""

    at: int
    path: str
    in_place: bool = False
    whole: bool = False
    old: str | None = None
    new: str | None = None


def tool_changes(event: Event, content: Iterable[str]) -> Iterator[Change]:
    """What a tool for files would edit."""
    arguments = event.arguments
    path = event.paths[0] if event.paths else ""
    several = arguments.get("edits")
    if isinstance(several, list) and several:
        for one in several:
            if isinstance(one, dict):
                yield Change(0, path, in_place=True, old=_text(one, _OLD), new=_text(one, content) or "")
        return
    old, new = _text(arguments, _OLD), _text(arguments, content)
    if old is None and not path:
        patch = next((value for value in arguments.values() if isinstance(value, str) and ("*** " in value or "+++ " in value)), None)
        if patch is not None:
            yield from _patched(patch[:_MOST], 0)
            return
    yield Change(0, path, in_place=event.kind == "edit", whole=event.kind == "write", old=old, new=new)


def shell_changes(command: str, commands: tuple[Command, ...]) -> Iterator[Change]:
    """What a shell command would edit: by a stream editor or patch, by writing text to a file, by copying, by inline Python."""
    bodies = heredocs(command) if "<<" in command else []
    for at, one in enumerate(commands):
        if one.kind == "edit" and one.program != "mv":
            paths = one.writes or one.paths[-1:]
            if bodies and one.program in ("patch", "git", "apply_patch"):
                yield from _patched(bodies.pop(0), at)
            else:
                yield from (Change(at, path, in_place=True) for path in paths or ("",))
        elif one.program in _WRITERS and one.writes and one.kind in ("write", "edit"):
            yield from _written(command, one, at, bodies)
        elif one.program.startswith(_PYTHONS) and ("-c" in one.words or "<<" in command):
            yield from inline_changes(command, at)


def inline_changes(code: str, at: int) -> Iterator[Change]:
    """What Python code writes to files whose names stand in it."""
    if "open(" not in code and ".write_" not in code:
        return
    for match in _OPENED.finditer(code[:_MOST]):
        path = match.group(1) or match.group(3)
        reads = code.count(path) > 1 and ".read" in code
        yield Change(at, path, in_place=reads, whole=not reads and match.group(2) != "a")


def _written(command: str, one: Command, at: int, bodies: list[str]) -> Iterator[Change]:
    text: str | None = None
    if one.program in ("cat", "tee") and bodies:
        text = bodies.pop(0)
    elif one.program in ("echo", "printf"):
        text = " ".join(one.words)
    for path in one.writes:
        if _BACKUP.search(path) or path.startswith("/dev/"):
            continue
        appends = f">> {path}" in command or f">>{path}" in command or (one.program == "tee" and "-a" in one.words)
        yield Change(at, path, whole=not appends and one.program in _KEEPS_TEXT, new=text)


def _patched(patch: str, at: int) -> Iterator[Change]:
    lines = patch.splitlines()
    old = "\n".join(line[1:] for line in lines if line.startswith("-") and not line.startswith("---"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))
    paths = [path for path in _PATCHED.findall(patch) if path != "/dev/null"]
    added = "*** Add File" in patch or "--- /dev/null" in patch
    for path in paths or [""]:
        yield Change(at, path, in_place=not added, old=old if len(paths) < 2 else None, new=new if len(paths) < 2 else None)


def heredocs(command: str) -> list[str]:
    """The bodies of the here-documents of a command, in order."""
    found: list[str] = []
    at = 0
    while len(found) < 20 and (match := _HEREDOC.search(command, at)) is not None:
        delimiter = next(filter(None, match.groups()), "")
        end = re.compile(rf"^[ \t]*{re.escape(delimiter)}[ \t]*$", re.MULTILINE).search(command, match.end())
        found.append(command[match.end() : end.start() if end is not None else len(command)])
        at = end.end() if end is not None else len(command)
    return found


def _text(arguments: object, names: Iterable[str]) -> str | None:
    if not isinstance(arguments, dict):
        return None
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)
