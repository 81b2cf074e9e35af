"""The files of a job: the list, one file's text within bounds, and saving them as they are. Nothing is unpacked on the server's disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.resources import Member
from benchloop_server.features.artifacts import service as artifacts
from benchloop_server.features.jobs import service as jobs
from benchloop_server.pages import ansi, sending
from benchloop_server.pages.page import Asked, Crumb, Page, command, path_of, with_query
from benchloop_server.pages.routing import page
from benchloop_server.pages.steps import SAFE_IMAGES

#: Bytes of a file that a page shows as text, and of an image.
MOST_TEXT, MOST_IMAGE = 300_000, 20_000_000
_ROWS = 500
_SIGNS: dict[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


def files(asked: Asked) -> Page:
    """All files of the job, or those whose path holds `q`, `_ROWS` at a time."""
    job_id = asked.ids["job_id"]
    members = artifacts.members(asked.services, asked.principal, job_id).members
    part = asked.one("q").strip()
    kept = [each for each in members if part.lower() in each.path.lower()]
    first = asked.whole("from", 1, most=10**9) - 1
    rows = [{"path": each.path, "size": each.size, "sha256": each.sha256, **_urls(job_id, each)} for each in kept[first : first + _ROWS]]
    more = (
        with_query(asked.path, (*((("q", part),) if part else ()), ("from", str(first + _ROWS + 1)))) if first + _ROWS < len(kept) else None
    )
    return Page(
        template="job-files.html",
        title="Files",
        line=f"{len(kept)} of {len(members)} files" if part else f"{len(members)} files",
        crumbs=_crumbs(asked, "Files"),
        data={"rows": rows, "total": len(kept), "part": part, "first": first + 1, "next": more, "job_id": job_id},
        commands=[command("artifacts", "download", "-j", job_id, "-o", "data")],
        routes=[f"/openapi{path_of('jobs', job_id, 'artifacts', 'members')}"],
    )


def file(asked: Asked) -> Page:
    """One file: its text around `start`, at most `MOST_TEXT` bytes of it; an image; or only what it is."""
    job_id, path = asked.ids["job_id"], asked.one("path")
    found = artifacts.archive(asked.services, asked.principal, job_id)
    member = artifacts.member(asked.services, found, path)
    start = asked.whole("start", 1, most=10**12) if asked.one("start") not in {"", "0"} else 0
    at = max(0, start - MOST_TEXT // 4)
    head, content = _part(artifacts.member_bytes(asked.services, found, member), at, MOST_TEXT)
    kind = _kind(head, member)
    shown = _text(content, at, start) if kind == "text" else None
    return Page(
        template="job-file.html",
        title=path.rpartition("/")[2] or path,
        line=path,
        crumbs=_crumbs(asked, path),
        data={
            "file": {"path": path, "size": member.size, "sha256": member.sha256, "kind": kind, **_urls(job_id, member)},
            "before": shown[0] if shown else [],
            "rest": shown[1] if shown else [],
            "skipped": at,
            "left": max(0, member.size - at - len(content)),
            "later": with_query(asked.path, (("path", path), ("start", str(at + len(content) + MOST_TEXT // 4)))),
            "job_id": job_id,
        },
        commands=[command("artifacts", "download", "-j", job_id, member=path, output_dir="data")],
        routes=[with_query(f"/openapi{path_of('jobs', job_id, 'artifacts', 'member')}", (("path", path),))],
    )


def saved(asked: Asked) -> Any:
    """One file, to save."""
    found = artifacts.archive(asked.services, asked.principal, asked.ids["job_id"])
    member = artifacts.member(asked.services, found, asked.one("path"))
    return sending.saved(member.path.rpartition("/")[2], artifacts.member_bytes(asked.services, found, member), length=member.size)


def picture(asked: Asked) -> Any:
    """One file that begins like an image of a safe kind, to be shown; of any other kind it is saved."""
    found = artifacts.archive(asked.services, asked.principal, asked.ids["job_id"])
    member = artifacts.member(asked.services, found, asked.one("path"))
    chunks = artifacts.member_bytes(asked.services, found, member)
    head = next(chunks, b"")
    media_type = _image(head)
    whole = _joined(head, chunks)
    if media_type is None or member.size > MOST_IMAGE:
        return sending.saved(member.path.rpartition("/")[2], whole, length=member.size)
    return sending.shown(whole, length=member.size, media_type=media_type)


def archive(asked: Asked) -> Any:
    """All files as one `.tgz`, to save."""
    found = artifacts.archive(asked.services, asked.principal, asked.ids["job_id"])
    chunks = artifacts.archive_bytes(asked.services, found, start=0, stop=found.place.length)
    return sending.saved(found.name, chunks, length=found.place.length, media_type="application/gzip")


def _crumbs(asked: Asked, last: str) -> tuple[Crumb, ...]:
    job = jobs.get(asked.services, asked.principal, asked.ids["job_id"])
    group, own = path_of("groups", job.group_id), path_of("jobs", job.job_id)
    files = () if last == "Files" else (Crumb("Files", path_of("jobs", job.job_id, "files")),)
    return (Crumb("Groups", "/groups"), Crumb(job.group_id, group), Crumb(job.job_id, own), *files, Crumb(last))


def _urls(job_id: str, member: Member) -> dict[str, str]:
    place = (("path", member.path),)
    names = {"url": ("file",), "save": ("file", "raw"), "picture": ("file", "image")}
    return {name: with_query(path_of("jobs", job_id, *parts), place) for name, parts in names.items()}


def _part(chunks: Iterator[bytes], start: int, length: int) -> tuple[bytes, bytes]:
    """The first bytes of a file, and `length` bytes from `start` on; what follows is not read."""
    head, part, at = b"", bytearray(), 0
    for chunk in chunks:
        head = head or chunk[:4096]
        part += chunk[max(0, start - at) : max(0, start + length - at)]
        at += len(chunk)
        if at >= start + length:
            break
    return head, bytes(part)


def _kind(head: bytes, member: Member) -> str:
    if _image(head) is not None and member.size <= MOST_IMAGE:
        return "image"
    return "bytes" if b"\0" in head else "text"


def _image(head: bytes) -> str | None:
    for media_type, signs in _SIGNS.items():
        if media_type in SAFE_IMAGES and head.startswith(signs):
            return media_type if media_type != "image/webp" or head[8:12] == b"WEBP" else None
    return None


def _text(content: bytes, at: int, start: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The runs before and from the cited place on; `start` counts characters, which is near enough to bytes to land close by."""
    words = content.decode("utf-8", "replace")
    cut = max(0, min(start - at, len(words)))
    cut = words.rfind("\n", 0, cut) + 1 if cut else 0
    return ansi.runs(words[:cut]), ansi.runs(words[cut:])


def _joined(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


ROUTES: list[HTTPRouteHandler] = [
    page("/jobs/{job_id:str}/files", files),
    page("/jobs/{job_id:str}/file", file),
    page("/jobs/{job_id:str}/file/raw", saved),
    page("/jobs/{job_id:str}/file/image", picture),
    page("/jobs/{job_id:str}/archive", archive),
]
