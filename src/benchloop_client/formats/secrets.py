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

# A token may follow an escaped line break inside JSON (`\n`), whose `n` would otherwise look like a part of it.
_EDGE = rb'(?:(?<![A-Za-z0-9_])|(?<=\\[nrt"]))'
_PEM_KIND = rb"(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PATTERNS: dict[str, bytes] = {
    "private-key": rb"-----BEGIN "
    + _PEM_KIND
    + rb"(?:[A-Za-z0-9+/=\s\\:,.-]{64,20000}?-----END "
    + _PEM_KIND
    + rb"|[A-Za-z0-9+/=\s\\]{64,20000})",
    "aws-key-id": _EDGE + rb"A(?:KIA|SIA)[A-Z2-7]{16}(?![A-Za-z0-9+/=])",
    "aws-secret-key": rb"(?i:aws_?secret_?(?:access_?)?key)[\\\"'\s:=]{1,8}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
    "github-token": rb"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})(?![A-Za-z0-9_])",
    "slack-token": rb"xox[abeoprs]-[0-9]{8,}-[0-9A-Za-z-]{16,}|xapp-[0-9]-[A-Z0-9]{8,}-[0-9]{8,}-[a-f0-9]{32,}",
    "slack-webhook": rb"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}",
    "anthropic-key": rb"sk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{60,}",
    "openai-key": rb"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,}|"
    + _EDGE
    + rb"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}(?![A-Za-z0-9])",
    "google-key": _EDGE + rb"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])",
    "huggingface-token": _EDGE + rb"hf_[A-Za-z]{34}(?![A-Za-z0-9])",
    "benchloop-key": rb"blk_[0-9A-Za-z]{40,64}(?![0-9A-Za-z])",
}
_GROUPS = {kind.replace("-", "_"): kind for kind in _PATTERNS}
_SECRET = re.compile(b"|".join(b"(?P<%s>%s)" % (group.encode(), _PATTERNS[kind]) for group, kind in _GROUPS.items()))
#: Plain substrings, one of which is in every match: a piece without any of them needs no pattern.
_MARKS = (
    b"PRIVATE KEY", b"AKIA", b"ASIA", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"xox", b"xapp-", b"hooks.slack.com",
    b"sk-ant-", b"sk-proj-", b"sk-svcacct-", b"sk-admin-", b"sk-None-", b"T3BlbkFJ", b"AIza", b"hf_", b"blk_",
)  # fmt: skip
_AWS_WORD = re.compile(rb"(?i)aws_?secret")
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
    """Start, end and kind of each secret in `data`."""
    if not any(mark in data for mark in _MARKS) and _AWS_WORD.search(data) is None:
        return
    for match in _SECRET.finditer(data):
        kind = _GROUPS[str(match.lastgroup)]
        if not _is_placeholder(match.group(), kind):
            yield match.start(), match.end(), kind


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
