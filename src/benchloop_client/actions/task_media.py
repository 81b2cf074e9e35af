"""The images and sounds that a trajectory names: fetched once a job and address, under names that are safe and differ."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from benchloop_client.actions.report import Failure
from benchloop_client.actions.work import Work
from benchloop_client.actions.zip_parts import Parts
from benchloop_client.contract import trajectory
from benchloop_client.contract.ids import encoded
from benchloop_client.errors import ApiError, BenchloopError, IntegrityError
from benchloop_client.transfer.files import Expect
from benchloop_client.transfer.pool import FATAL

#: Documents without it name no media.
MARK = b"trace_media"


def fetch(work: Work, parts: Parts, job_id: str, document: bytes) -> list[Failure]:
    """Put each media file of a document under `source/<job>/`; returns the failures, which never fail the trajectory."""
    failures = []
    for name, uri, mime in named(document) if MARK in document else ():
        try:
            _put(work, parts, f"source/{encoded(job_id)}/{name}", uri, mime)
        except FATAL:
            raise
        except BenchloopError as error:
            failures.append(Failure(job_id, error, "source: "))
    return failures


def named(document: bytes) -> Iterator[tuple[str, str, str | None]]:
    """(file name, address, media type) of each distinct address in the document, in order. Raises `IntegrityError` if it is not JSON."""
    try:
        value, _ = trajectory.load(document)
    except ValueError as error:
        raise IntegrityError(f"the trajectory is not JSON: {error}") from None
    seen: set[str] = set()
    taken: set[str] = set()
    for uri, mime in _references(value):
        if uri not in seen:
            seen.add(uri)
            yield _free(_name(uri, mime), taken), uri, mime


def _put(work: Work, parts: Parts, part: str, uri: str, mime: str | None) -> None:
    if parts.has(part):
        return
    with work.client.media_stream(uri, mime) as stream:
        if stream.html and not (mime or "").startswith("text/html"):
            raise ApiError(stream.status, "a web page came instead of the file")
        parts.put(part, stream, expect=Expect(stream.length))


def _references(value: Any) -> Iterator[tuple[str, str | None]]:
    """Every `trace_media` in the document, in order; without recursion, as documents may be deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            media = item.get("trace_media")
            if isinstance(media, dict) and isinstance(media.get("oss_uri"), str) and media["oss_uri"]:
                mime = media.get("mime_type")
                yield media["oss_uri"], mime if isinstance(mime, str) else None
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def _name(uri: str, mime: str | None) -> str:
    name = quote(uri.rsplit("/", 1)[-1].encode("utf-8", "replace"), safe="-_.~")
    name = "media" if name in {"", ".", ".."} else name[-120:]
    if "." not in name.strip(".") and mime:
        name += mimetypes.guess_extension(mime) or ""
    return name


def _free(name: str, taken: set[str]) -> str:
    """`name`, with `-2`, `-3`, … before its first dot if it is taken (also where only upper and lower case differ)."""
    stem, dot, rest = name.partition(".")
    candidate, number = name, 1
    while candidate.casefold() in taken:
        number += 1
        candidate = f"{stem}-{number}{dot}{rest}"
    taken.add(candidate.casefold())
    return candidate
