"""Text of terminals as runs of plain text with the names of their styles; nothing else that a terminal would obey is left. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchloop_server.pages.formatting import shown

#: Colours and weights (SGR); then everything else that begins with an escape: other CSI, strings (OSC, DCS, …), charsets, single ones.
_SIGNS = re.compile(
    r"(?:\x1b\[|\x9b)(?P<sgr>[0-9;:]{0,64})m"
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|(?:\x1b[\]PX^_]|\x9d|\x90)[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]{0,8}[0-~]?"
)
_WEIGHTS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_OFF = {21: ("bold",), 22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}
_MOST_RUNS = 2_000

Run = tuple[str, str]


def runs(text: str) -> list[Run]:
    """(class names, text) in order; the class names are ours, such as `a-bold a-31`. After `_MOST_RUNS` runs the rest is plain."""
    found: list[Run] = []
    style: dict[str, str] = {}
    for codes, part in _parts(text.replace("\r\n", "\n").replace("\r", "\n")):
        if codes is not None:
            style = _changed(style, codes)
        if not part:
            continue
        names = " ".join(f"a-{style[key]}" for key in sorted(style)) if len(found) < _MOST_RUNS else ""
        if found and found[-1][0] == names:
            found[-1] = (names, found[-1][1] + shown(part))
        else:
            found.append((names, shown(part)))
    return found


def plain(text: str) -> str:
    """The text without styles."""
    return "".join(part for _, part in runs(text))


def _parts(text: str) -> Iterator[tuple[str | None, str]]:
    at = 0
    codes: str | None = None
    for sign in _SIGNS.finditer(text):
        yield codes, text[at : sign.start()]
        codes, at = sign.group("sgr"), sign.end()
    yield codes, text[at:]


def _changed(style: dict[str, str], codes: str) -> dict[str, str]:
    """The style after these codes; colours beyond the sixteen are left out, as is what is not known."""
    style = dict(style)
    numbers = [int(code or 0) for code in re.split("[;:]", codes)]
    at = 0
    while at < len(numbers):
        code = numbers[at]
        if code in (38, 48):
            at += _beyond(style, numbers[at:])
            continue
        _apply(style, code)
        at += 1
    return style


def _beyond(style: dict[str, str], numbers: list[int]) -> int:
    """`38;5;n` and `38;2;r;g;b`: how many numbers they take; the first sixteen of 256 are colours that are known."""
    ground = numbers[0] == 48
    if len(numbers) > 2 and numbers[1] == 5:
        if numbers[2] < 16:
            base = (40 if ground else 30) if numbers[2] < 8 else (92 if ground else 82)
            style["ground" if ground else "colour"] = str(base + numbers[2])
        return 3
    return 5 if len(numbers) > 1 and numbers[1] == 2 else 1


def _apply(style: dict[str, str], code: int) -> None:
    if code == 0:
        style.clear()
    elif code in _WEIGHTS:
        style[_WEIGHTS[code]] = _WEIGHTS[code]
    elif code in _OFF:
        for name in _OFF[code]:
            style.pop(name, None)
    elif 30 <= code <= 37 or 90 <= code <= 97:
        style["colour"] = str(code)
    elif 40 <= code <= 47 or 100 <= code <= 107:
        style["ground"] = str(code)
    elif code in (39, 49):
        style.pop("colour" if code == 39 else "ground", None)
