"""Words that a text must hold for a pattern to match anywhere in it: looking for a word is many times faster than for a pattern.

The patterns of rules do not mind letter case and are over lines, so only lines with such a word are searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

#: A shorter word stands nearly everywhere.
SHORTEST = 3
#: What patterns that do not mind letter case take for the same letter, and `lower` does not.
_ALIKE = str.maketrans({"\u0131": "i", "\u017f": "s"})


#: Sets of signs in a pattern, and what makes it reach over several lines.
_SET = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_OVER_LINES = ("\\n", "\n", "(?s", "\\A", "\\Z")


def lowered(text: str) -> str:
    """The text in lower case, of the same length, as the other functions want it."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)
    return lower if lower.isascii() else lower.translate(_ALIKE)


def matches(pattern: re.Pattern[str], text: str, lower: str) -> Iterator[re.Match[str]]:
    """What the pattern matches within the lines of the text, whose `lowered` is `lower`, in order."""
    words = needed(pattern.pattern)
    if words is None or _is_over_lines(pattern.pattern):
        if words is None or any(word in lower for word in words):
            yield from pattern.finditer(text)
        return
    for begin, end in sorted({line for word in words for line in _lines_with(word, lower)}):
        yield from pattern.finditer(text, begin, end)


def _lines_with(word: str, lower: str) -> Iterator[tuple[int, int]]:
    at = lower.find(word)
    while at >= 0:
        end = lower.find("\n", at)
        end = len(lower) if end < 0 else end
        yield lower.rfind("\n", 0, at) + 1, end
        at = lower.find(word, end)


@lru_cache(maxsize=1_000)
def _is_over_lines(pattern: str) -> bool:
    rest = _SET.sub("", pattern)
    return any(sign in rest for sign in _OVER_LINES)


def possible(pattern: re.Pattern[str], lower: str) -> bool:
    """False where the pattern cannot match in the text whose `lowered` is `lower`."""
    words = needed(pattern.pattern)
    return words is None or any(word in lower for word in words)


@lru_cache(maxsize=1_000)
def needed(pattern: str) -> tuple[str, ...] | None:
    """Words, one of which stands in every text that the pattern matches, in lower case; None where that cannot be told."""
    found: list[str] = []
    for branch in _branches(pattern):
        words = _of_branch(branch)
        if words is None:
            return None
        found += words
    return tuple(dict.fromkeys(found))


def _branches(pattern: str) -> Iterator[str]:
    """The alternatives at the top."""
    begin = 0
    for at, piece in _pieces(pattern):
        if piece == "|":
            yield pattern[begin:at]
            begin = at + 1
    yield pattern[begin:]


def _pieces(pattern: str) -> Iterator[tuple[int, str]]:
    """The signs, escapes, sets in brackets and groups of a pattern, with their places."""
    at = 0
    while at < len(pattern):
        end = at + 1
        if pattern[at] == "\\":
            end = at + 2
        elif pattern[at] == "[":
            end = _end_of_set(pattern, at)
        elif pattern[at] == "(":
            end = _end_of_group(pattern, at)
        elif pattern[at] == "{":
            end = pattern.find("}", at) + 1 or len(pattern)
        yield at, pattern[at:end]
        at = end


def _end_of_set(pattern: str, at: int) -> int:
    at += 2 if pattern[at + 1 : at + 2] == "^" else 1
    at += pattern[at : at + 1] == "]"
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _end_of_group(pattern: str, at: int) -> int:
    at += 1
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "(":
            at = _end_of_group(pattern, at)
        elif pattern[at] == "[":
            at = _end_of_set(pattern, at)
        else:
            at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _of_branch(branch: str) -> tuple[str, ...] | None:
    """The longest word of the branch, or the words of one of its groups."""
    runs, groups = [""], []
    for piece, optional in _with_quantifier(branch):
        sign = _literal(piece)
        if sign is not None:
            runs[-1] += "" if optional else sign
        elif piece.startswith("(?:") and not optional:
            groups.append(needed(piece[3:-1]))
        if sign is None or optional:
            runs.append("")
        elif optional is None:
            runs.append(sign)
    longest = max(runs, key=len)
    if len(longest) >= SHORTEST:
        return (longest,)
    return next((words for words in groups if words), None)


def _with_quantifier(branch: str) -> Iterator[tuple[str, bool | None]]:
    """Each piece, and whether it may be missing: None where it may only be repeated."""
    pieces = [*(piece for _, piece in _pieces(branch)), ""]
    for piece, after in pairwise(pieces):
        if piece[0] in "?*+{":
            continue
        yield piece, None if after == "+" else after[:1] in {"?", "*", "{"}


def _literal(piece: str) -> str | None:
    """The sign that the piece stands for, in lower case; None for anything but one sign."""
    if piece[0] == "\\":
        return piece[1] if len(piece) == 2 and not piece[1].isalnum() else None
    return piece.lower() if len(piece) == 1 and piece not in ".^$|" and piece.isascii() else None
