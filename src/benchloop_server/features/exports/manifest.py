"""An export that was named, as a blob: which trajectories it has. Its name is the blob's, so that whoever knows it finds it again.

Nothing refers to the blob: `benchloop-server gc` gives it back after its grace. It names contents and no places, so that it gives nobody
what is not in their workspace, and stays true while contents are moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from benchloop_client.contract.compression import BadFrames, decode, frame

_MAGIC = b"benchloop export 1\n"
_NAME = re.compile(r"export-([0-9a-f]{64})\Z")
#: A manifest has about 70 bytes a job; nothing longer than this is looked into.
MAX_BYTES = 256 << 20


class Row(msgspec.Struct, frozen=True, array_like=True):
    """One job with a trajectory: the upload's SHA-256 (hex), and the length of the document as it is served."""

    job_id: str
    sha256: str
    document_bytes: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds. `version` names the whole content of the group, `day` (since 1970) makes a blob that is asked for young."""

    workspace_id: str
    group_id: str
    version: str
    day: int
    rows: list[Row]


def encoded(manifest: Manifest) -> bytes:
    """The blob."""
    return _MAGIC + frame(msgspec.json.encode(manifest))


def decoded(chunks: Iterable[bytes]) -> Manifest | None:
    """The manifest in a blob; None for anything else."""
    raw = b"".join(chunks)
    if not raw.startswith(_MAGIC):
        return None
    try:
        return msgspec.json.decode(b"".join(decode([raw[len(_MAGIC) :]], limit=MAX_BYTES)), type=Manifest)
    except (BadFrames, msgspec.MsgspecError):
        return None


def name_of(blob: str) -> str:
    """The name of the export that is in the blob `blob`."""
    return f"export-{blob}"


def blob_of(name: str) -> str | None:
    """The blob in which an export of this name would be; None for what cannot be a name."""
    match = _NAME.match(name)
    return match.group(1) if match else None
