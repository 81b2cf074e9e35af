"""How records look on stdout other than as one JSON array: JSON lines, CSV or a table; none of them holds more than a record in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from benchloop_client.cli import table
from benchloop_client.contract import trajectory

#: The records as JSON texts, from the beginning at each call.
Lines = Callable[[], Iterable[bytes]]
#: The keys that lead to a value; shown with dots between them.
Path = tuple[str, ...]

#: Objects inside a record become columns of their own down to this level; what lies deeper, and every list, is JSON in a cell.
_LEVELS = 3
_WHOLE: Path = ("value",)
_SUSPECT = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TO_QUOTE = re.compile(r'[",\r\n]')
_FIELDS_SHOWN = 30

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)


@dataclass(frozen=True, slots=True)
class Style:
    """What was asked for: one of `session.FORMATS`, and the fields to show (none: all). A table has `columns` where no fields are asked for
    (none: as many as fit).
    """

    name: str = "json"
    fields: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a table goes: its `width` (None: not a terminal), whether in colour, and who is told what is not shown."""

    width: int | None = None
    colour: bool = False
    say: Callable[[str], None] = lambda _text: None


def rendered(style: Style, lines: Lines, screen: Screen) -> Iterator[bytes]:
    """The records in the format asked for (not JSON)."""
    if style.name == "jsonl":
        yield from _json_lines(style, lines)
    elif style.name == "csv":
        yield from _csv(style, lines)
    else:
        yield from _table(style, lines, screen)
    if style.fields:
        _tell_unknown(style, lines, screen)


def flattened(line: bytes) -> dict[Path, bytes]:
    """A record's values as JSON text, by their paths; a record that is no object is the one value `value`."""
    found: dict[Path, bytes] = {}
    _flatten((), line.strip(), found)
    return found


def picked(line: bytes, fields: Sequence[str]) -> list[bytes]:
    """The values of these fields as JSON text, `null` where there is none; a field may be a whole object."""
    return [_find(line.strip(), field) or b"null" for field in fields]


def cell(raw: bytes) -> str:
    """A value as text: nothing for null, texts without quotes, the rest as JSON."""
    if raw == b"null":
        return ""
    if raw[:1] != b'"':
        return raw.decode("utf-8", "replace")
    try:
        return _TEXT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value, _ = trajectory.load(raw)
        return str(value)


def _json_lines(style: Style, lines: Lines) -> Iterator[bytes]:
    for line in lines():
        if style.fields:
            pairs = zip(style.fields, picked(line, style.fields), strict=True)
            line = b"{" + b",".join(msgspec.json.encode(name) + b":" + raw for name, raw in pairs) + b"}"  # noqa: PLW2901
        yield line + b"\n"


def _csv(style: Style, lines: Lines) -> Iterator[bytes]:
    """With a header, where there is at least one record. A text that a spreadsheet would run as a formula gets an apostrophe in front."""
    columns = () if style.fields else tuple(_columns(lines))
    for number, line in enumerate(lines()):
        if number == 0:
            yield _csv_line(map(_harmless, style.fields or map(".".join, columns)))
        raws = picked(line, style.fields) if style.fields else _in_columns(line, columns)
        yield _csv_line(_harmless(cell(raw)) if raw[:1] == b'"' else cell(raw) for raw in raws)


def _in_columns(line: bytes, columns: Sequence[Path]) -> list[bytes]:
    values = flattened(line)
    return [values.get(path, b"null") for path in columns]


def _columns(lines: Lines) -> dict[Path, None]:
    """Every path that occurs, in the order of first appearance."""
    found: dict[Path, None] = {}
    for line in lines():
        found.update(dict.fromkeys(path for path in flattened(line) if path not in found))
    return found


def _csv_line(values: Iterable[str]) -> bytes:
    line = ",".join(_quoted(_UNPRINTABLE.sub("\ufffd", value)) for value in values)
    return (line or '""').encode("utf-8", "replace") + b"\n"


def _quoted(text: str) -> str:
    """A cell by RFC 4180. Python's own writer leaves a lone carriage return as it is before 3.13."""
    return '"' + text.replace('"', '""') + '"' if _TO_QUOTE.search(text) or text.strip() != text else text


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_SUSPECT) and not _NUMBER.fullmatch(text) else text


def _table(style: Style, lines: Lines, screen: Screen) -> Iterator[bytes]:
    chosen = style.fields or style.columns
    columns: Sequence[Path] = () if chosen else tuple(_columns(lines))

    def rows() -> Iterator[list[table.Cell]]:
        for line in lines():
            raws = picked(line, chosen) if chosen else _in_columns(line, columns)
            yield [table.Cell.of(cell(raw), number=raw[:1].isdigit() or raw[:1] == b"-") for raw in raws]

    names = chosen or tuple(map(".".join, columns))
    shown = table.Table(names, rows, keep_all=bool(chosen), width=screen.width)
    yield from shown.text(colour=screen.colour)
    if shown.left_out:
        screen.say(
            f"{len(shown.left_out)} more column(s) do not fit: {_some(shown.left_out)}; --fields a,b picks some, --format csv has all"
        )


def _tell_unknown(style: Style, lines: Lines, screen: Screen) -> None:
    """Say which fields no record has, and which there are."""
    unknown = dict.fromkeys(style.fields)
    known: dict[str, None] = {}
    for line in lines():
        for name in [name for name in unknown if _find(line.strip(), name) is not None]:
            del unknown[name]
        if not unknown:
            return
        known.update(dict.fromkeys(map(".".join, flattened(line))))
    if known:
        screen.say(f"no record has {_some(list(unknown))}; there are {_some(list(known))}")


def _some(names: Sequence[str]) -> str:
    more = f", … ({len(names) - _FIELDS_SHOWN} more)" if len(names) > _FIELDS_SHOWN else ""
    return ", ".join(names[:_FIELDS_SHOWN]) + more


def _flatten(path: Path, raw: bytes, found: dict[Path, bytes]) -> None:
    inner = _object(raw) if len(path) < _LEVELS else None
    if not inner:
        found[path or _WHOLE] = raw
        return
    for name, value in inner.items():
        _flatten((*path, name), bytes(value).strip(), found)


def _find(raw: bytes, field: str) -> bytes | None:
    """A value by its dotted name; a key may hold dots itself."""
    inner = _object(raw)
    if inner is None:
        return raw if (field,) == _WHOLE else None
    if field in inner:
        return bytes(inner[field]).strip()
    parts = field.split(".")
    for taken in range(len(parts) - 1, 0, -1):
        outer = inner.get(".".join(parts[:taken]))
        found = _find(bytes(outer).strip(), ".".join(parts[taken:])) if outer is not None else None
        if found is not None:
            return found
    return None


def _object(raw: bytes) -> dict[str, msgspec.Raw] | None:
    """The members of an object, their values as they are written; None for anything else."""
    if raw[:1] != b"{":
        return None
    try:
        return _OBJECT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        value, _ = trajectory.load(raw)
        return _OBJECT.decode(msgspec.json.encode(value))
    except (ValueError, RecursionError):
        return None
