"""What the output of a call says about it: error or not, of which class, on which line, with which exit code, whole or cut."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from benchloop_analysis.tables import Errors

#: Classes of errors with which a call was refused whole: nothing of it happened.
REFUSED = frozenset({"command_not_found", "shell_syntax", "schema_error", "unknown_tool", "user_declined"})
#: Errors stand at the beginning or the end of an output; the middle of a long one is not searched.
_HEAD, _TAIL = 2_000, 4_000
#: Where nothing marks an output as an error, only its very edges are taken as what a harness says; the rest is content.
_EDGE_HEAD, _EDGE_TAIL = 300, 500
_CODE_HEAD, _CODE_TAIL = 120, 400
_LONG = 1_000
_CODE_KEYS = ("exit_code", "returncode", "return_code", "exitCode")
_MARK = re.compile(r"\s*(?:\[error\] tool reported failure|<tool_use_error>|</tool_use_error>)\s*")
_CODE_LINE = re.compile(r"\A(?:Exit code|exit code) -?\d+\s*")

_TEMPLATE = (
    (re.compile(r"https?://\S+"), "<url>"),
    (re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b"), "<hex>"),
    (re.compile(r"(?:[\w.~-]*/)+[\w.-]+/?"), "<path>"),
    (re.compile(r"'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`"), "<text>"),
    (re.compile(r"\b[\w-]+\.(?:py|c|h|cpp|js|ts|txt|json|sh|rs|go|java|md|csv|ya?ml|toml|R)\b"), "<file>"),
    (re.compile(r"\d+(?:\.\d+)*"), "<n>"),
)


class Reading(msgspec.Struct, frozen=True, gc=False):
    """What was read off an output; `at` is the place of the line that tells."""

    is_error: bool
    error_class: str | None = None
    at: int | None = None
    signature: str | None = None
    exit_code: int | None = None
    truncated: bool = False


#: Of a call that nothing answered.
UNREAD = Reading(False)
_FINE = UNREAD
_CUT = Reading(False, truncated=True)


def read(output: str, marked: bool | None, extra: Mapping[str, Any] | None, errors: Errors) -> Reading:
    """Read an output. `marked` is what the harness says about it (True: an error), None where it says nothing."""
    code = exit_code(output, extra, errors)
    truncated = len(output) > _LONG and _is_cut(output, errors)
    failed = marked if marked is not None else (None if code is None else code != 0)
    if failed is False:
        if code is None:
            return _CUT if truncated else _FINE
        return Reading(False, exit_code=code, truncated=truncated)
    if failed is None:
        found = _unmarked(output, errors)
        if found is None:
            return _CUT if truncated else _FINE
    else:
        found = _class_of(output, errors.classes) or (errors.codes.get(code, "failed") if code else "failed", _first_line(output))
    name, at = found
    return Reading(True, name, at, template(_line(output, at)), code, truncated)


def exit_code(output: str, extra: Mapping[str, Any] | None, errors: Errors) -> int | None:
    """The exit code as recorded beside the output or written in it."""
    for key in _CODE_KEYS if extra else ():
        value = (extra or {}).get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    edges = output if len(output) <= _CODE_HEAD + _CODE_TAIL else f"{output[:_CODE_HEAD]}\n{output[-_CODE_TAIL:]}"
    if "xit" not in edges and "eturn" not in edges:
        return None
    for pattern in errors.exit_codes:
        match = pattern.search(edges)
        if match is not None:
            return int(match.group(1))
    return None


def template(line: str) -> str:
    """The line without what differs between equal errors: addresses, numbers, paths, quoted names. At most 160 characters."""
    line = _CODE_LINE.sub("", _MARK.sub(" ", line[:400])).strip()
    for pattern, word in _TEMPLATE:
        line = pattern.sub(word, line)
    return " ".join(line.split())[:160]


def is_empty(output: str | None, errors: Errors) -> bool:
    """Whether an output holds nothing but the harness saying so."""
    if output is None:
        return True
    text = output.partition("\n\n[metadata]")[0].strip().lower()
    return not text or text in errors.empty


def _unmarked(output: str, errors: Errors) -> tuple[str, int] | None:
    head = output[:60].lstrip().lower()
    if head.startswith(errors.begins):
        return _class_of(output, errors.classes) or ("failed", _first_line(output))
    return _class_of(output, errors.strong, _EDGE_HEAD, _EDGE_TAIL)


def _class_of(
    output: str, classes: tuple[tuple[str, tuple[str, ...]], ...], head: int = _HEAD, tail: int = _TAIL
) -> tuple[str, int] | None:
    """The first class one of whose texts stands in the head or the tail, and where the line begins."""
    left_out = max(0, len(output) - head - tail)
    window = _lower(output if not left_out else f"{output[: head - 1]}\n{output[-tail:]}")
    for name, texts in classes:
        for text in texts:
            if text in window:
                at = window.rfind("\n", 0, window.index(text)) + 1
                return name, at if at < head else at + left_out
    return None


def _lower(text: str) -> str:
    """Lower case of the same length: a few letters grow when they are lowered, and places must stay."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def _is_cut(output: str, errors: Errors) -> bool:
    lowered = output.lower()
    return any(mark in lowered for mark in errors.truncated)


def _first_line(output: str) -> int:
    match = _CODE_LINE.match(output)
    at = match.end() if match is not None else 0
    rest = output[at:]
    at += len(rest) - len(rest.lstrip())
    return at if at < len(output) else 0


def _line(output: str, at: int) -> str:
    end = output.find("\n", at)
    return output[at : end if end >= 0 else len(output)][:400]
