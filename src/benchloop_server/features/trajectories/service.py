"""One job's trajectory as it is stored, and the images and sounds that it shows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchloop_client.contract.compression import decode
from benchloop_client.contract.ids import SHA256
from benchloop_client.contract.trajectory import absent_document
from benchloop_server.features.trajectories import repository
from benchloop_server.features.trajectories.frames import OPENING
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.errors import not_found
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.segments import Frames, Segment, literal
from benchloop_server.kit.services import Services
from benchloop_server.kit.verified import Place, read_part, read_whole
from benchloop_server.sql.identities import unrecorded_of
from benchloop_server.sql.places import index_of, place_of

_MEDIA = "blmedia"
_OPENING = literal(OPENING)
#: Media types that are answered as they are; anything else a browser might run, so it is only bytes.
_PLAIN_MEDIA = re.compile(r"(image/(png|jpeg|gif|webp|bmp)|audio/[a-z0-9.+-]+)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stored:
    """A trajectory in the store: `sha256` names the document that was sent, `place` is where its frames without the first byte are, `index`
    where the index of its steps is.
    """

    sha256: str
    document_bytes: int
    place: Place
    index: Place

    def segments(self) -> list[Segment]:
        """The document (E10) as pieces of known length."""
        return [_OPENING, self.rest]

    @property
    def rest(self) -> Frames:
        """The document without its first byte."""
        return Frames(self.place, self.document_bytes - len(OPENING))


@dataclass(frozen=True, slots=True)
class Absent:
    """The document that stands for a trajectory that was not recorded."""

    document: bytes

    @property
    def sha256(self) -> str:
        """Names the document, as `Stored.sha256` does."""
        return hashlib.sha256(self.document).hexdigest()

    def segments(self) -> list[Segment]:
        """The document (E10) as one piece."""
        return [literal(self.document)]


@dataclass(frozen=True, slots=True)
class MediaFile:
    """An image or sound: where it is, its type as it may be told to a browser, and its file name."""

    place: Place
    media_type: str
    name: str


def found(services: Services, principal: Principal, job_id: str) -> Stored | Absent:
    """Where the job's trajectory is, or what stands for it where none was recorded. Raises `DomainError` (404) for an unknown job."""
    with services.db.read() as connection:
        row = repository.trajectory(connection, principal, job_id)
    if row is None:
        raise not_found("job", job_id)
    if row.sha256 is None:
        return Absent(absent_document(unrecorded_of(row)))
    return Stored(row.sha256, row.document_bytes, place_of(row), index_of(row))


def plain(blobs: BlobStore, place: Place, *, limit: int) -> Iterator[bytes]:
    """The document (E10) of the trajectory at `place`, decoded. Raises `DamagedBlob`, and `BadFrames` beyond `limit` bytes."""
    yield OPENING
    yield from decode(read_whole(blobs, place), limit=limit)


def media(services: Services, principal: Principal, uri: str) -> MediaFile:
    """The file behind an `oss_uri` of a trajectory. Raises `DomainError` (404) for anything that the caller's jobs do not show."""
    prefix, _, place = uri.partition("/")
    job_id, _, rest = place.partition("/")
    sha256, _, name = rest.partition("/")
    if prefix != _MEDIA or not SHA256.match(sha256) or "\0" in uri:
        raise not_found("media", uri)
    with services.db.read() as connection:
        row = repository.media(connection, principal, job_id, sha256=sha256, name=name)
    if row is None:
        raise not_found("media", uri)
    media_type = row.mime_type.lower() if _PLAIN_MEDIA.match(row.mime_type.lower()) else "application/octet-stream"
    return MediaFile(place_of(row), media_type, name.rpartition("/")[2] or "media")


def media_bytes(services: Services, file: MediaFile, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes `start` to `stop` (not included) of the file, verified."""
    if (start, stop) == (0, file.place.length):
        return read_whole(services.blobs, file.place)
    return read_part(services.blobs, file.place, start=start, stop=stop)
