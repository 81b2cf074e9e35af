"""Markdown that says what was meant, whatever the text in it holds: nothing in a quote becomes markup, HTML, a link or a control code.

Text from runs is hostile until shown otherwise. `visible` shows control characters, ANSI sequences and signs that turn or hide text instead
of passing them on; `inline`, `code` and `fenced` put the result where a paragraph, a code span or a block stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

#: Categories that are never passed on: control, format (bidirectional marks, zero width), surrogates, private use, separators of lines.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
#: Invisible though they are letters or marks by category: fillers, variation selectors, the grapheme joiner.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_PRINTABLE = re.compile(r"[\x20-\x7e]*\Z")
_OTHERS = re.compile(r"[^\x20-\x7e]")
_MARKUP = re.compile(
    r"[\\`*\[\]<>|~$&@]"  # anywhere
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # not inside a word
    r"|:(?=//)|(?<=www)\.|(?<=WWW)\."  # what some viewers make a link of
    r"|\A[#+=\-]"  # at the beginning of a line
)
#: What stands before the text of a line that was written as part of one.
_INDENT = re.compile("⏎ {2,}")
_NUMBERED = re.compile(r"\A(\d{1,9})([.)])")
_NAMED = {"\n": "⏎", "\t": "\\t", "\r": "\\r", "\x1b": "\\x1b"}


def visible(text: str, *, lines: bool = False) -> str:
    """The text with every sign that is not seen as itself written out. `lines` keeps line breaks, else they become `⏎`."""
    if _PRINTABLE.match(text):
        return text
    return _OTHERS.sub(_shown_line_breaks if lines else _shown_sign, text.replace("\r\n", "\n") if lines else text)


def _shown_sign(match: re.Match[str]) -> str:
    return _shown(match.group())


def _shown_line_breaks(match: re.Match[str]) -> str:
    return "\n" if match.group() == "\n" else _shown(match.group())


@lru_cache(maxsize=4_096)
def _shown(sign: str) -> str:
    if unicodedata.category(sign) not in _HIDDEN and not _INVISIBLE.match(sign):
        return " " if sign != " " and unicodedata.category(sign) == "Zs" else sign
    named = _NAMED.get(sign)
    if named is not None:
        return named
    number = ord(sign)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def inline(text: str) -> str:
    """Any text as plain words of a paragraph, a list item or a table's cell: one line, every sign of markup escaped."""
    shown = " ".join(visible(text).split())
    return _NUMBERED.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", shown))


def code(text: str, limit: int = 200) -> str:
    """A code span of one line; longer texts end in `…`. Not for cells of a table: there it is `cell`."""
    shown = joined_lines(visible(shortened(text, limit)))
    if not shown.strip():
        return "(empty)"
    ticks = "`" * (_longest(shown, "`") + 1)
    pad = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def joined_lines(shown: str) -> str:
    """Visible text whose lines became one, without their indentation."""
    return _INDENT.sub("⏎ ", shown)


def cell(text: str, limit: int = 200) -> str:
    """A code span in a table's cell, where a bar would end the cell even inside code.

    A backslash before a bar would be taken for the bar's escape, and the bar be lost: such texts are written as plain words.
    """
    shown = visible(shortened(text, limit))
    return inline(shown) if "\\|" in shown or shown.endswith("\\") else code(shown, limit).replace("|", "\\|")


def fenced(text: str, limit: int = 4_000) -> str:
    """A block of code with line breaks, whatever fences stand in it."""
    shown = visible(shortened(text, limit), lines=True).rstrip("\n")
    fence = "`" * max(3, _longest(shown, "`") + 1)
    return f"{fence}text\n{shown}\n{fence}"


def shortened(text: str, limit: int) -> str:
    """The text, or its first `limit` characters and `…`."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def step_link(step_id: int) -> str:
    """`[step 12](#step-12)`: pages and viewers give each step the place `step-<id>`."""
    return f"[step {step_id}](#step-{step_id})"


def step_links(steps: Iterable[int], most: int = 5) -> str:
    """Links to the first few steps, and how many more there are."""
    found = list(dict.fromkeys(steps))
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(map(step_link, found[:most])) + more


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; empty without rows."""
    lines = [_line(row) for row in rows]
    return "\n".join([_line(heads), _line(["---"] * len(heads)), *lines]) if lines else ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def bullets(items: Iterable[str]) -> str:
    """A list of items that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def joined(blocks: Iterable[str]) -> str:
    """Blocks with an empty line between them, empty ones left out; ends in a line break."""
    return "\n\n".join(block for block in blocks if block) + "\n"


def _longest(text: str, sign: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(sign)}+", text)), default=0)
