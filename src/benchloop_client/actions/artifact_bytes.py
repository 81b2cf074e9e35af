"""The bytes of one artifact: opened, refused if they are something else, and fetched in a way that survives a break where that pays."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeVar

from benchloop_client.actions.artifact_lists import Artifact
from benchloop_client.actions.destination import Content, Destination
from benchloop_client.actions.lasting import Lasting, sha256_of, worth
from benchloop_client.actions.work import Work, moving, told
from benchloop_client.addresses import Origin
from benchloop_client.client import Span, Stream
from benchloop_client.errors import ApiError, IntegrityError, NotFound
from benchloop_client.transfer.files import Expect

Piece = TypeVar("Piece", bytes, "bytes | memoryview")

#: A valid gzip'd tar without entries: what the documented client writes where an archive is missing.
PLACEHOLDER = gzip.compress(b"\0" * 10240, mtime=0)
_ARCHIVES = (".tgz", ".tar.gz")
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = zlib.MAX_WBITS | 16
_PLAIN = 1 << 20


class Nothing(Exception):
    """A job for which nobody listed anything has no archive."""


def content(work: Work, artifact: Artifact, etag: str | None, *, placeholder: bool) -> Content:
    """An artifact's bytes; with `placeholder` the documented one where an archive is missing (404, or at once a web page in its place)."""
    archive = _is_archive(artifact)
    try:
        stream = _opened(work, artifact, etag)
    except NotFound:
        if artifact.sealed:
            raise Nothing from None
        if not (archive and placeholder):
            raise
        return _placeholder()
    if stream.unchanged:
        return Content((), unchanged=True, close=stream.close)
    if stream.html and archive:
        stream.close()
        if stream.redirected or not placeholder:
            raise ApiError(stream.status, f"a web page came instead of {artifact.name}")
        return _placeholder()
    if worth(stream):
        return Content((), etag=stream.etag, close=stream.close, body=stream)
    chunks: Iterable[bytes] = moving(stream, _name(artifact), work.watch)
    stated = sha256_of(stream.etag) if artifact.sealed else artifact.sha256
    expect = Expect(artifact.size if artifact.size is not None else stream.length, stated)
    if archive:
        chunks = _begun_gzip(chunks, artifact.name)
        chunks = chunks if expect != Expect() else _ended_gzip(chunks, artifact.name)
    return Content(chunks, expect, stream.etag, close=stream.close)


def lasting(work: Work, artifact: Artifact, destination: Destination) -> Lasting:
    """How a large artifact is fetched."""

    def opened(span: Span | None) -> Stream:
        stream = _opened(work, artifact, None, span)
        if stream.html and _is_archive(artifact):
            stream.close()
            raise ApiError(stream.status, f"a web page came instead of {artifact.name}")
        return stream

    def checked(pieces: Iterable[bytes | memoryview], start: int, total: int | None) -> Iterator[bytes | memoryview]:
        if start == 0 and _is_archive(artifact):
            pieces = _begun_gzip(pieces, artifact.name)
        return told(work, _name(artifact), pieces, start, total)

    spare = partial(_spare, work, destination)
    return Lasting(opened, Expect(artifact.size, artifact.sha256), checked, spare=spare, sealed=artifact.sealed)


def _spare(work: Work, destination: Destination) -> int:
    return destination.spare(work.client.width())


def _opened(work: Work, artifact: Artifact, etag: str | None, span: Span | None = None) -> Stream:
    if artifact.link is None:
        return work.client.job_artifact_stream(artifact.job_id, etag=etag, span=span)
    if "://" in artifact.link.partition("?")[0] and not _at_home(artifact.link, work.client.settings.origin):
        raise IntegrityError("the server lists several artifacts, this one at an address that is not its own; it was not followed")
    return work.client.artifact_link_stream(artifact.link, etag=etag, span=span)


def _is_archive(artifact: Artifact) -> bool:
    return artifact.name.endswith(_ARCHIVES)


def _name(artifact: Artifact) -> str:
    return f"{artifact.job_id}/{artifact.name}"


def _at_home(link: str, origin: Origin) -> bool:
    try:
        return Origin.of(link) == origin
    except ValueError:
        return False


def _placeholder() -> Content:
    return Content((PLACEHOLDER,), status="placeholder")


def _begun_gzip(chunks: Iterable[Piece], name: str) -> Iterator[Piece]:
    """`chunks`, refused unless they begin as gzip does: nothing at all, or an error page without a type, is no archive."""
    head = b""
    for chunk in chunks:
        if len(head) < len(_GZIP):
            head += bytes(chunk[: len(_GZIP)])
            if not (head[:2].startswith(_GZIP) or _GZIP.startswith(head)):
                break
        yield chunk
    if not head.startswith(_GZIP):
        raise IntegrityError(f"{name} is no gzip archive: {'nothing' if not head else 'something else'} arrived")


def _ended_gzip(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """`chunks` of unknown length, refused unless the last gzip member is whole: nothing else tells a body that was cut from a short one."""
    member = zlib.decompressobj(_GZIP_WINDOW)
    try:
        for chunk in chunks:
            yield chunk
            member = _fed(member, chunk)
        while not member.eof and member.decompress(b"", _PLAIN):
            pass
    except zlib.error:
        raise IntegrityError(f"{name} is a damaged gzip archive") from None
    if not member.eof:
        raise IntegrityError(f"{name} broke off: its gzip archive has no end")


def _fed(member: zlib._Decompress, data: bytes) -> zlib._Decompress:
    """The member that is open after `data`, of which a bounded piece at a time is unpacked and forgotten."""
    while data:
        if member.eof:
            data = data.lstrip(b"\0")
            member = zlib.decompressobj(_GZIP_WINDOW) if data else member
        member.decompress(data, _PLAIN)
        data = member.unconsumed_tail or (member.unused_data if data else b"")
    return member
