"""Keys and tokens in the files of a run: found before anything is sent, by patterns that rarely err, and blotted out on request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from benchloop_client.formats.records import RunFile

_PIECE = 1024 * 1024
#: Longer than any match, so that none is cut by the edge of a piece.
_OVERLAP = 32 * 1024

_PEM_KIND = rb"(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
#: Key material, with line breaks plain or escaped. A backslash is taken only together with what it escapes, so that JSON stays JSON.
_PEM_BODY = rb"(?:[A-Za-z0-9+/=\s:,.-]|\\+[nrt])"
_PEM = (
    rb"-----BEGIN " + _PEM_KIND + b"(?:" + _PEM_BODY + rb"{64,20000}?-----END " + _PEM_KIND + rb"|(?:[A-Za-z0-9+/=\s]|\\+[nrt]){64,20000})"
)
_GITHUB = rb"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})(?![A-Za-z0-9_])"
_OPENAI = rb"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}(?![A-Za-z0-9]))"
_SLACK = rb"xox[abeoprs]-[0-9]{8,}-[0-9A-Za-z-]{16,}|xapp-[0-9]-[A-Z0-9]{8,}-[0-9]{8,}-[a-f0-9]{32,}"
#: Kind, what each match of it begins with, the pattern from there on, and whether a letter or digit may not stand before it.
_RULES: tuple[tuple[str, tuple[bytes, ...], bytes, bool], ...] = (
    ("private-key", (b"-----BEGIN ",), _PEM, False),
    ("aws-key-id", (b"AKIA", b"ASIA"), rb"A(?:KIA|SIA)[A-Z2-7]{16}(?![A-Za-z0-9+/=])", True),
    ("github-token", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"), _GITHUB, False),
    ("slack-token", (b"xox", b"xapp-"), _SLACK, True),
    ("slack-webhook", (b"hooks.slack.com/",), rb"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}", False),
    ("anthropic-key", (b"sk-ant-",), rb"sk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{60,}", False),
    ("openai-key", (b"sk-",), _OPENAI, True),
    ("google-key", (b"AIza",), rb"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])", True),
    ("huggingface-token", (b"hf_",), rb"hf_[A-Za-z]{34}(?![A-Za-z0-9])", True),
    ("benchloop-key", (b"blk_",), rb"blk_[0-9A-Za-z]{40,64}(?![0-9A-Za-z])", False),
)
#: Plain searches and then one match at the place are many times faster than one alternation over every byte.
_MARKS = tuple((mark, re.compile(pattern), kind, edge) for kind, marks, pattern, edge in _RULES for mark in marks)
#: The same for a first glance, which does not look at what stands before: a few letters that several rules have in common, where in a match
#: they stand, and the pattern.
_SHARED = ((b"IA", 2, "aws-key-id"), (b"gh", 0, "github-token"), (b"github_pat_", 0, "github-token"), (b"sk-", 0, "openai-key"))
_GLANCES = tuple(
    (letters, back, re.compile(pattern))
    for kind, marks, pattern, _ in _RULES
    for letters, back in ([(mark, at) for mark, at, of in _SHARED if of == kind] or [(mark, 0) for mark in marks])
)
#: The one rule whose beginning is written in many ways; looked for in a lower-case copy.
_AWS_MARK = b"secret"
_AWS_BEFORE = (b"aws_", b"aws")
_AWS = re.compile(rb"(?i:aws_?secret_?(?:access_?)?key)(?:\\+[\"nrt]|[\"'\s:=]){1,8}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
#: Escapes of JSON behind which a part of a token can hide: of blanks and of ASCII characters but `<`, `>` and `&`.
_HIDDEN = re.compile(rb"\\u00(?:0[9aAdD]|2[0-57-9a-fA-F]|3[0-9abdfABDF]|[4-7])")
#: What may stand before a token that needs an edge; `\n` and the like end in a letter when JSON escapes them.
_EDGE = re.compile(rb"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))")
_PLACEHOLDER = re.compile(
    rb"(?i)example|x{4}|placeholder|redacted|dummy|fake|your[_-]|changeme|1234567890|0123456789|abcdefghij|\.\.\.|(.)\1{7}"
)
#: A real token uses many different characters.
_FEWEST_DISTINCT = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """A key or token: in which file (its path inside the job), on which line (from 1), and of what kind. Never the text itself."""

    path: str
    line: int
    kind: str


def scan(files: Iterable[RunFile]) -> Iterator[Hit]:
    """The hits in the files, in order. Memory does not grow with their size. Raises `OSError` for a file that cannot be read."""
    for file in files:
        if isinstance(file.source, bytes):
            yield from scan_bytes(file.source, file.path)
        else:
            yield from scan_file(file.source, file.path)


def suspicious(data: bytes) -> bool:
    """Whether a JSON or text file might hold a secret, in whatever way it is written: True too often rather than too seldom. What was read
    from a file that is not suspicious has no hits either.
    """
    if b"\\u00" in data and _HIDDEN.search(data) is not None:
        return True
    if b"\\/" in data and suspicious(data.replace(b"\\/", b"/")):
        return True
    return any(_occurs(letters, back, pattern, data) for letters, back, pattern in _GLANCES) or any(True for _ in _aws_matches(data))


def scan_bytes(data: bytes, path: str) -> Iterator[Hit]:
    """The hits in one text that is at hand, such as the JSON of a job's facts; `path` is what the hits are called by."""
    line, at = 1, 0
    for start, _, kind in _matches(data):
        line += data.count(b"\n", at, start)
        at = start
        yield Hit(path, line, kind)


def scan_file(source: Path, path: str) -> Iterator[Hit]:
    """The hits in one file, read in pieces that overlap."""
    with source.open("rb") as stream:
        yield from _scan_stream(stream, path)


def redact(data: bytes) -> bytes:
    """`data` with each key or token replaced by `[REDACTED:<kind>]`. JSON stays JSON: no match reaches beyond a string."""
    pieces, at = [], 0
    for start, end, kind in _matches(data):
        pieces += [data[at:start], b"[REDACTED:%s]" % kind.encode()]
        at = end
    return b"".join([*pieces, data[at:]]) if pieces else data


def redact_value(value: Any) -> Any:
    """A JSON value with the same done to its text."""
    raw = msgspec.json.encode(value)
    clean = redact(raw)
    return value if clean is raw else msgspec.json.decode(clean)


def redact_file(file: RunFile) -> RunFile:
    """A file with the same done to its bytes; the file itself when there is nothing in it."""
    data = file.source if isinstance(file.source, bytes) else file.source.read_bytes()
    clean = redact(data)
    return file if clean is data else replace(file, source=clean, size=len(clean))


def _matches(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each secret in `data`, in order, none within another."""
    found = sorted([*_marked(data), *_aws_secrets(data)])
    done = 0
    for start, end, kind in found:
        if start >= done:
            done = end
            yield start, end, kind


def _occurs(letters: bytes, back: int, pattern: re.Pattern[bytes], data: bytes) -> bool:
    """Whether the pattern matches `back` before one of the places of the letters, whatever stands in front."""
    at = data.find(letters)
    while at >= 0:
        if at >= back and pattern.match(data, at - back) is not None:
            return True
        at = data.find(letters, at + 1)
    return False


def _marked(data: bytes) -> Iterator[tuple[int, int, str]]:
    for mark, pattern, kind, edge in _MARKS:
        at = data.find(mark)
        while at >= 0:
            match = pattern.match(data, at)
            if match is not None and (not edge or _EDGE.match(data, at)) and not _is_placeholder(match.group(), kind):
                yield at, match.end(), kind
            at = data.find(mark, match.end() if match is not None else at + len(mark))


def _aws_secrets(data: bytes) -> Iterator[tuple[int, int, str]]:
    for match in _aws_matches(data):
        if not _is_placeholder(match.group(), "aws-secret-key"):
            yield match.end() - 40, match.end(), "aws-secret-key"


def _aws_matches(data: bytes) -> Iterator[re.Match[bytes]]:
    lowered = data.lower()
    at = lowered.find(_AWS_MARK)
    while at >= 0:
        before = next((mark for mark in _AWS_BEFORE if lowered.endswith(mark, 0, at)), None)
        match = None if before is None else _AWS.match(data, at - len(before))
        if match is not None:
            yield match
        at = lowered.find(_AWS_MARK, at + len(_AWS_MARK))


def _is_placeholder(found: bytes, kind: str) -> bool:
    if kind == "private-key":
        return _PLACEHOLDER.search(found) is not None and len(found) < 400
    return _PLACEHOLDER.search(found) is not None or len(set(found)) < _FEWEST_DISTINCT


def _scan_stream(stream: BinaryIO, path: str) -> Iterator[Hit]:
    """Pieces are judged up to `_OVERLAP` before their end; the rest is looked at again with the next piece."""
    window, line = b"", 1
    while True:
        piece = stream.read(_PIECE)
        window += piece
        settled = len(window) - _OVERLAP if piece else len(window)
        at, done = 0, max(settled, 0)
        for start, end, kind in _matches(window):
            if start >= done:
                break
            line += window.count(b"\n", at, start)
            at = start
            done = max(done, end)
            yield Hit(path, line, kind)
        if not piece:
            return
        line += window.count(b"\n", at, done)
        window = window[done:]
