"""One job of a run as it is sent: facts, document, files and media, their hashes, and the fingerprint over all of it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import msgspec

from benchloop_client.actions.push_uploads import Shipment
from benchloop_client.actions.spool import Spool
from benchloop_client.contract import trajectory
from benchloop_client.contract.ids import mint_job_id
from benchloop_client.contract.resources import Content, GroupUpsert, JobFacts, JobUpsert, Media
from benchloop_client.errors import LocalError
from benchloop_client.formats import secrets as scanner
from benchloop_client.formats.records import RunFile, RunGroup, RunJob, RunMedia
from benchloop_client.formats.secrets import Hit
from benchloop_client.transfer.archive import ArchiveError, open_regular, read_regular, write_archive

#: What to do with keys and tokens in the run: stop before anything is sent, replace them, or send them.
Secrets = Literal["stop", "redact", "allow"]

_MEDIA = "blmedia"
_PIECE = 1 << 20
_ARCHIVE_IN_MEMORY = 1 << 20
#: A file that grows while it is read is taken as it was, up to this size; it is held in memory meanwhile.
_GROWING_LIMIT = 64 << 20
_TRIES = 3
#: A file up to this size is read once and held until its job is packed.
_HELD = 256 << 10
#: What odd data makes the libraries raise: text that is no Unicode, nesting without end, numbers out of range.
_UNUSABLE = (ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


@dataclass(frozen=True, slots=True)
class HashedFile:
    """A file with its SHA-256 (hex)."""

    file: RunFile
    sha256: str


@dataclass(frozen=True, slots=True)
class JobContent:
    """A job as it was read: everything that its fingerprint covers. Small files are held, large ones are read again to be packed."""

    job: RunJob
    job_id: str
    facts: JobFacts
    document: bytes | None
    files: tuple[HashedFile, ...]
    media: tuple[tuple[RunMedia, Media], ...]
    #: SHA-256 (hex) of the document, and of everything.
    document_sha256: str = ""
    fingerprint: str = ""

    @property
    def held(self) -> int:
        """Bytes in memory."""
        return len(self.document or b"") + sum(len(each.file.source) for each in self.files if isinstance(each.file.source, bytes))

    def light(self) -> JobContent:
        """The same without what it holds: what it is called and its fingerprint."""
        return replace(self, job=replace(self.job, trajectory=None, files=()), document=None, files=(), media=())


@dataclass(frozen=True, slots=True)
class Built:
    """A job ready to be sent: its record, and the uploads that the record names."""

    upsert: JobUpsert
    uploads: tuple[Shipment, ...]
    content: JobContent


@dataclass(frozen=True, slots=True)
class SafeGroup:
    """The facts of a group as they are sent, and the keys and tokens in them."""

    facts: GroupUpsert
    hits: tuple[Hit, ...]


def job_id_of(group_id: str, job: RunJob) -> str:
    """The id of a job: the same at each push, whatever else arrives."""
    return mint_job_id(group_id, job.facts.trial_key, job.facts.task_id)


def safe_group(facts: GroupUpsert, secrets: Secrets) -> SafeGroup:
    """A group's facts with secrets replaced or found."""
    if secrets == "redact":
        return SafeGroup(msgspec.convert(scanner.redact_value(msgspec.to_builtins(facts)), GroupUpsert), ())
    hits = tuple(scanner.scan_bytes(msgspec.json.encode(facts), "group")) if secrets == "stop" else ()
    return SafeGroup(facts, hits)


def read(group: RunGroup, job: RunJob, secrets: Secrets) -> JobContent:
    """Read a job. Raises `LocalError` for a file, document or fact that cannot be taken."""
    try:
        content = _read(group, job, secrets)
        return replace(content, fingerprint=_fingerprint(content))
    except _UNUSABLE as error:
        raise LocalError(f"it cannot be sent: {error}") from None
    except ArchiveError as error:
        raise LocalError(str(error)) from None
    except OSError as error:
        raise LocalError(f"{error.strerror or error}: {error.filename or job.location}") from None


def hits(content: JobContent) -> Iterator[Hit]:
    """The keys and tokens in everything of a job that is sent. Raises `LocalError` for a file that cannot be read."""
    try:
        yield from scanner.scan(each.file for each in content.files)
        yield from scanner.scan_bytes(msgspec.json.encode(content.facts), "facts")
        if content.document is not None:
            yield from scanner.scan_bytes(content.document, "trajectory")
    except OSError as error:
        raise LocalError(f"{error.strerror or error}: {error.filename or content.job.location}") from None


def build(content: JobContent, spool: Spool, reread: Callable[[RunJob], JobContent]) -> Built:
    """Pack a job into the spool; `reread` reads it again where a file changed since. Raises `LocalError` for a job that cannot be taken."""
    changed: Exception | None = None
    for _ in range(_TRIES):
        try:
            return _build(content, spool)
        except ArchiveError as error:
            changed = error
            content = reread(content.job)
        except OSError as error:
            raise LocalError(f"{error.strerror or error}: {error.filename or content.job.location}") from None
    raise LocalError(str(changed))


def _build(content: JobContent, spool: Spool) -> Built:
    uploads: list[Shipment] = []
    document = archive = None
    if content.document is not None:
        document = Content(sha256=content.document_sha256, size=len(content.document))
        packed = spool.add(trajectory.packed(content.document))
        uploads.append(Shipment("trajectory", document.sha256, document.size, packed.length, lambda: spool.read(packed), encoding="zstd"))
    if content.files:
        archive, shipment = _packed([each.file for each in content.files], spool)
        uploads.append(shipment)
    for source, media in content.media:
        uploads.append(Shipment("media", media.sha256, media.size, media.size, _reader(source.source)))
    upsert = JobUpsert(
        job_id=content.job_id,
        fingerprint=content.fingerprint,
        facts=content.facts,
        trajectory=document,
        archive=archive,
        media=[media for _, media in content.media],
    )
    return Built(upsert, tuple(uploads), content)


def _packed(files: list[RunFile], spool: Spool) -> tuple[Content, Shipment]:
    small = sum(file.size for file in files) <= _ARCHIVE_IN_MEMORY
    with BytesIO() if small else tempfile.TemporaryFile() as out:
        info = write_archive(files, out)
        packed = spool.take(out)
    return Content(sha256=info.sha256, size=info.size), Shipment("archive", info.sha256, info.size, info.size, lambda: spool.read(packed))


def _read(group: RunGroup, job: RunJob, secrets: Secrets) -> JobContent:
    job_id = job_id_of(group.group_id, job)
    redacting = secrets == "redact"
    files = tuple(_hashed(scanner.redact_file(file) if redacting else file) for file in job.files)
    media = tuple((each, _media_record(each)) for each in job.media)
    facts = msgspec.convert(scanner.redact_value(msgspec.to_builtins(job.facts)), JobFacts) if redacting else job.facts
    document = _document(group.group_id, job_id, job, [record for _, record in media])
    if redacting and document is not None:
        document = scanner.redact(document)
    return JobContent(job, job_id, facts, document, files, media, "" if document is None else _sha(document))


def _fingerprint(content: JobContent) -> str:
    """Hex SHA-256 over facts, contents and the reader's version."""
    source = content.facts.source
    covered = {
        "facts": msgspec.to_builtins(content.facts),
        "trajectory": content.document_sha256 or None,
        "files": [[each.file.path, each.file.size, each.sha256, each.file.executable] for each in content.files],
        "media": [[media.sha256, media.name] for _, media in content.media],
        "reader": source.reader if source else None,
        "reader_version": source.reader_version if source else None,
    }
    return _sha(msgspec.json.encode(covered, order="sorted"))


def _document(group_id: str, job_id: str, job: RunJob, media: list[Media]) -> bytes | None:
    if job.trajectory is None:
        return None
    try:
        normal = job.trajectory().document
    except trajectory.InvalidTrajectory as error:
        raise LocalError(f"its trajectory cannot be read: {error}") from None
    references = {each.name: (f"{_MEDIA}/{job_id}/{each.sha256}/{each.name}", each.mime_type) for each in media}
    shown = trajectory.with_media(normal, references)
    return trajectory.encode(trajectory.stamp(shown, job_id=job_id, group_id=group_id, task_id=job.facts.task_id))


def _hashed(file: RunFile) -> HashedFile:
    """The file with its digest. One that grows is taken as long as it was when it was listed; one that shrank as it is now."""
    if isinstance(file.source, bytes):
        return HashedFile(file, _sha(file.source))
    if file.size <= _HELD:
        return _held(file)
    digest, left = hashlib.sha256(), file.size
    with open_regular(file.source) as stream:
        while left and (piece := stream.read(min(left, _PIECE))):
            digest.update(piece)
            left -= len(piece)
        grows = not left and bool(stream.read(1))
    if left:
        return _hashed(replace(file, size=file.size - left))
    return _snapshot(file) if grows else HashedFile(file, digest.hexdigest())


def _snapshot(file: RunFile) -> HashedFile:
    if file.size > _GROWING_LIMIT:
        raise LocalError(f"{file.path} grows while it is read and is too large to be held; push again when it is finished, or leave it out")
    return _held(file)


def _held(file: RunFile) -> HashedFile:
    """As much of a file as there was when it was listed, held in memory."""
    assert isinstance(file.source, Path)
    data = read_regular(file.source, file.size)
    return HashedFile(RunFile(file.path, data, len(data), file.executable), _sha(data))


def _media_record(media: RunMedia) -> Media:
    digest, size = hashlib.sha256(), 0
    for piece in _pieces(media.source):
        digest.update(piece)
        size += len(piece)
    return Media(sha256=digest.hexdigest(), size=size, mime_type=media.mime_type, name=media.name)


def _reader(path: Path) -> Any:
    return lambda: _pieces(path)


def _pieces(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as stream:
        while piece := stream.read(_PIECE):
            yield piece


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
