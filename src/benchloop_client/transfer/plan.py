"""Decides, without touching anything, what becomes of each wanted file: fetched, kept, checked first, or refused because of a clash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from benchloop_client.transfer.journal import Entry

Action = Literal["fetch", "keep", "rehash", "conflict"]
Kind = Literal["absent", "file", "other"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One file to have: `path` relative to the output directory with `/`; size, digest and version as far as the server tells them."""

    path: str
    source: str
    size: int | None = None
    sha256: str | None = None
    etag: str | None = None


@dataclass(frozen=True, slots=True)
class OnDisk:
    """What is at the path now; `size` in bytes for a file."""

    kind: Kind
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """`fetch`: get it (`etag` set: ask for it only if it changed). `keep`: leave it. `rehash`: keep it if the content has SHA-256 `sha256`
    (or CRC-32 `crc32`), else fetch. `conflict`: it cannot be written there. `reason` is a few words for a person.
    """

    action: Action
    reason: str
    etag: str | None = None
    sha256: str | None = None
    crc32: str | None = None


def decide(wanted: Wanted, entry: Entry | None, disk: OnDisk, *, skip_existing: bool = False, resumed: bool = False) -> Decision:
    """The decision for one file. `skip_existing`: the user trusts what the journal says was finished. `resumed`: the entry stems from the
    unfinished run that is being continued. Existence alone is never trusted: a file without a matching journal line is fetched again.
    """
    if disk.kind == "other":
        return Decision("conflict", "something that is not a file has this name")
    if disk.kind == "absent":
        return Decision("fetch", "not there yet")
    if entry is None or entry.status != "done" or entry.size is None:
        return Decision("fetch", "not known to be complete")
    if entry.size != disk.size:
        return Decision("fetch", "has another size than when it was written")
    if entry.source != wanted.source:
        return Decision("fetch", "was written by something else")
    if _is_other(wanted, entry):
        return Decision("fetch", "the server has another version")
    if skip_existing or resumed or _is_same(wanted, entry):
        return _kept(entry)
    return Decision("fetch", "may have changed", etag=entry.etag)


class Claims:
    """The paths given out so far, to notice two wanted files that would overwrite each other, also where a file system ignores case."""

    def __init__(self) -> None:
        self._taken: dict[int, int] = {}

    def claim(self, wanted: Wanted) -> Decision | None:
        """None when the path is free or the same thing is asked for again; else the conflict."""
        place, source = _number(wanted.path.casefold()), _number(wanted.source)
        if self._taken.setdefault(place, source) == source:
            return None
        return Decision("conflict", "another file of this run has this name")


def _kept(entry: Entry) -> Decision:
    if entry.durable or (entry.sha256 is None and entry.crc32 is None):
        return Decision("keep", "complete")
    # Written, but perhaps lost by a crash of the machine: the size alone does not tell.
    return Decision("rehash", "complete if its digest matches", sha256=entry.sha256, crc32=entry.crc32)


def _is_other(wanted: Wanted, entry: Entry) -> bool:
    if wanted.sha256 and entry.sha256:
        return wanted.sha256.lower() != entry.sha256
    return bool(wanted.etag and entry.etag and wanted.etag != entry.etag)


def _is_same(wanted: Wanted, entry: Entry) -> bool:
    if wanted.sha256 and entry.sha256:
        return wanted.sha256.lower() == entry.sha256
    return bool(wanted.etag and wanted.etag == entry.etag)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
