"""Ids: how they are minted, which are refused, and how each becomes a path segment or a file name. Nowhere else are ids looked into."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

#: What the server mints and accepts as a group or job id. Task ids are free text.
MINTED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
SHA256 = re.compile(r"[0-9a-f]{64}\Z")

_NAME_LIMIT = 200
_SLUG_LIMIT = 60
_UNSAFE_IN_NAMES = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%]')
#: Names that are fine as they are: far longer than a device's.
_PLAIN_NAMES = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{8,120}(\.[A-Za-z0-9]{1,8})?\Z", re.ASCII)
_WINDOWS_NAMES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?\Z")


class BadId(ValueError):
    """An id that no request is made for; the message names the id and says why."""


def check(value: str, kind: str = "id") -> str:
    """Return `value` if it can be asked for, else raise `BadId`. Anything passes but the empty string, `.`, `..` and NUL."""
    if not value or value in {".", ".."} or "\0" in value:
        raise BadId(f"{kind} {value!r} cannot be used: it is empty, a folder reference or holds NUL")
    return value


def segment(value: str) -> str:
    """The id as one segment of a URL path: everything but RFC 3986's unreserved characters is percent-encoded."""
    return quote(check(value).encode("utf-8", "surrogatepass"), safe="")


def encoded(value: str) -> str:
    """The id as the original's task downloads write it into file names ("enc" in the docs): percent-encoded, then shortened if too long."""
    return _fit(segment(value))


def file_name(value: str) -> str:
    """The id or artifact name as one file name: kept as it is where that is safe on every system, otherwise with the unsafe characters
    percent-encoded. A name too long for a file system keeps its head and tail around a digest.
    """
    if _PLAIN_NAMES.match(value):
        return value
    check(value, "name")
    name = _UNSAFE_IN_NAMES.sub(lambda m: f"%{ord(m.group()):02X}", value)
    name = name.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\ufffd", "%EF%BF%BD")
    if _WINDOWS_NAMES.match(name):
        # A device is a device whatever ending follows its name.
        stem, dot, ending = name.partition(".")
        name = f"{stem[:-1]}%{ord(stem[-1]):02X}{dot}{ending}"
    if name.endswith((".", " ")):
        name = f"{name[:-1]}%{ord(name[-1]):02X}"
    return _fit(name)


def slug(text: str, limit: int = _SLUG_LIMIT) -> str:
    """`text` cut down to lower risk: letters, digits, `.`, `_` and `-` only, starting with a letter or digit; `x` when nothing is left."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:limit].strip("-._")
    return kept or "x"


def mint_group_id(run_name: str, run_id: str, *, agent: str | None = None, model: str | None = None) -> str:
    """A group id for a run: readable name + 8 hex of the run's own id, and agent and model where one run holds several."""
    parts = [f"{slug(run_name, 48)}-{_digest(run_id)[:8]}"]
    if agent is not None or model is not None:
        parts += [slug(part, 28) for part in (agent, model) if part]
    return "--".join(parts)[:128].rstrip("-._")


def mint_job_id(group_id: str, trial_key: str, task_id: str) -> str:
    """A job id: readable task slug + 12 hex over group id and source trial key. It never holds an attempt number, so it does not change
    when attempts are renumbered.
    """
    return f"{slug(task_id)}-{_digest(group_id, trial_key)[:12]}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _fit(name: str) -> str:
    raw = name.encode("utf-8")
    if len(raw) <= _NAME_LIMIT:
        return name
    head = raw[:120].decode("utf-8", "ignore")
    tail = raw[-40:].decode("utf-8", "ignore")
    return f"{head}~{hashlib.sha256(raw).hexdigest()[:16]}~{tail}"
