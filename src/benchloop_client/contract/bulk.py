"""Many jobs in one body: items one after another, each one JSON line and then exactly `length` bytes; the index says where each one is."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

BulkKind = Literal["trajectories", "metadata", "artifacts"]
#: What `{kind}` in the path of a bulk route may be.
BULK_KINDS: tuple[str, ...] = get_args(BulkKind)
#: The type of a bulk body; a push bundle has the same framing.
BULK_TYPE = "application/x-benchloop-bundle"
#: The type of an index: one JSON object a line, `BulkHead` and then a `BulkEntry` for every item.
BULK_INDEX_TYPE = "application/x-ndjson"


class BulkItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The line in front of one item of a bulk body. Fields that have their default are left out.

    `length` bytes follow the line's newline, with SHA-256 `sha256` (hex); `size` is their number once `encoding` is undone. `kind`
    trajectory: the document of E10, as zstd frames; metadata: the JSON of E29; artifact: the archive of E26, `name` as E25 lists it.
    `absent`: nothing was recorded, nothing follows (a trajectory: the document that says so, in plain). `gone`: a job of a download task
    that was deleted since; nothing follows.
    """

    job_id: str
    kind: Literal["trajectory", "metadata", "artifact"]
    length: int
    size: int
    encoding: Literal["zstd"] | None
    sha256: str
    name: str | None = None
    absent: bool = False
    gone: bool = False


class BulkEntry(BulkItem, frozen=True, kw_only=True, omit_defaults=True):
    """One item in the index of a bulk body: its line, and the `offset` in the body of the first of its `length` bytes."""

    offset: int


class BulkHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of an index: the ETag of the bulk body it belongs to, that body's length in bytes, and the number of items."""

    etag: str
    total_length: int
    items: int
