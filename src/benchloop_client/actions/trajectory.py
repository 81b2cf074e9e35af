"""Trajectories of jobs and groups: documents go through as text, one at a time, and are only laid out anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec

from benchloop_client import paging
from benchloop_client.actions import bulk, bulk_trajectory
from benchloop_client.actions.choosing import choose, size_of
from benchloop_client.actions.destination import Content, Destination, beside, in_group
from benchloop_client.actions.events import Counter, Noted, Wrote
from benchloop_client.actions.indenter import Indenter
from benchloop_client.actions.lasting import Lasting, worth
from benchloop_client.actions.layout import Documents, Layout, object_chunks
from benchloop_client.actions.lines import lines
from benchloop_client.actions.report import Report
from benchloop_client.actions.shapes import must_exist
from benchloop_client.actions.work import Counted, Work, moving, placed, told
from benchloop_client.client import Span, Stream, plain
from benchloop_client.contract.trajectory import is_absent
from benchloop_client.errors import ApiError, IntegrityError, NotFound
from benchloop_client.transfer.plan import Wanted

_SUFFIX = "_trajectory.json"
#: A document that is longer (plain bytes) is not held.
_HELD = 8 << 20


def document(work: Work, job_id: str) -> bytes:
    """The E10 document as the server wrote it."""
    with work.client.job_trajectory_stream(job_id) as stream:
        return checked(work, stream, job_id)


def checked(work: Work, stream: Stream, job_id: str) -> bytes:
    """All of an answer that must be JSON. Raises `ApiError` for a web page."""
    return b"".join(moving(_no_page(stream, job_id), beside(job_id, _SUFFIX), work.watch))


def _no_page(stream: Stream, job_id: str) -> Stream:
    if stream.html:
        stream.close()
        raise ApiError(stream.status, f"a web page came instead of the trajectory of {job_id}")
    return stream


def job_element(work: Work, job_id: str, *, layout: Layout) -> Iterator[bytes]:
    """The document of one job as text."""
    yield layout.text(document(work, job_id))


def group_element(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """`{group_id, trajectories}` as text, documents in the order of the job list. Raises `NotFound` for an unknown group."""
    source = _documents_of(work, group_id)
    yield from object_chunks((("group_id", group_id), ("trajectories", Documents(source.documents()))), layout)
    without = source.jobs - source.found
    if without > 0:
        work.watch(Noted(f"{without} of {source.jobs} job(s) in {group_id} have no trajectory"))


def group_rows(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """The documents of a group, each as text with a line end, in the order of the job list. Raises `NotFound` for an unknown group."""
    source = _documents_of(work, group_id)
    for text in source.documents():
        yield layout.text(text) + b"\n"


def download_jobs(work: Work, jobs: Sequence[str], destination: Destination) -> Report:
    """Write `<job>_trajectory.json` of each job."""
    counter = Counter(work.watch, "job trajectory downloads", "jobs", len(jobs))
    return work.run(jobs, lambda job_id: save_job(work, job_id, destination), count=Counted(counter, "downloaded"))


def download_groups(work: Work, groups: Sequence[str], destination: Destination) -> Report:
    """Write `<group>/trajectory.json` of each group, one group after another: each fills the connections by itself."""
    counter = Counter(work.watch, "group trajectory downloads", "groups", len(groups))
    return work.in_turn(groups, lambda group_id: save_group(work, group_id, destination), count=Counted(counter, "downloaded"))


def save_job(work: Work, job_id: str, destination: Destination) -> object:
    """Write `<job>_trajectory.json`, unless the server says that it has not changed; returns its path."""
    layout = destination.layout
    path = beside(job_id, _SUFFIX)

    def opened(span: Span | None) -> Stream:
        return _no_page(work.client.job_trajectory_stream(job_id, span=span), job_id)

    def content(etag: str | None) -> Content:
        stream = _no_page(work.client.job_trajectory_stream(job_id, etag=etag), job_id)
        if stream.unchanged:
            return Content((), unchanged=True, close=stream.close)
        if worth(stream, coded=True):
            return Content((), etag=stream.etag, close=stream.close, body=stream)
        return Content(_laid_out(moving(stream, path, work.watch), job_id, layout), etag=stream.etag, close=stream.close)

    lasting = Lasting(opened, checked=partial(told, work, path), made=lambda raw: _laid_out(plain(raw), job_id, layout))
    source = destination.laid_out(f"job_trajectory {job_id}")
    if destination.rehearsing:
        destination.announce(path, _size_of(work.client.job(job_id)))
    return placed(work, destination.save(path, source, content, lasting=lasting), Wrote)


def save_group(work: Work, group_id: str, destination: Destination) -> object:
    """Write `<group>/trajectory.json`; returns its path."""
    path = in_group(group_id, "trajectory.json")
    source = destination.laid_out(work.selection.source(f"group_trajectory {group_id}", group_id))
    if destination.rehearsing:
        destination.announce(path, size_of(work, group_id))
        outcome = destination.save(path, source, lambda _etag: Content(()))
    elif bulk.offered(work) and (not work.selection or choose(work, group_id).mostly):
        outcome = bulk_trajectory.save(work, _document(work, group_id, Wanted(path, source)), destination)
    else:
        outcome = destination.save(path, source, lambda _etag: Content(_group_text(work, group_id, destination.layout)))
    return placed(work, outcome, Wrote)


def _document(work: Work, group_id: str, wanted: Wanted) -> bulk_trajectory.Document:
    if work.selection:
        only = frozenset(choose(work, group_id).jobs)
        return bulk_trajectory.Document(group_id, wanted, len(only), only.__contains__)
    group = work.client.group(group_id)
    return bulk_trajectory.Document(group_id, wanted, int(group.get("present") or 0) if isinstance(group, dict) else 0)


def _group_text(work: Work, group_id: str, layout: Layout) -> Iterator[bytes]:
    yield from group_element(work, group_id, layout=layout)
    yield b"\n"


def _documents_of(work: Work, group_id: str) -> _Lines | _OneByOne:
    """One stream where the server offers that, unless only few of the jobs are wanted."""
    if work.client.has("group-lines") and (not work.selection or choose(work, group_id).mostly):
        return _Lines(work, group_id)
    return _OneByOne(work, group_id)


class _Lines:
    """The documents of a group from one stream of our server: one a line."""

    def __init__(self, work: Work, group_id: str) -> None:
        self._work, self._group_id = work, group_id
        self.jobs = self.found = 0

    def documents(self) -> Iterator[bytes]:
        work, group_id = self._work, self._group_id
        group = work.client.group(group_id)
        wanted = frozenset(choose(work, group_id).jobs) if work.selection else None
        self.jobs = len(wanted) if wanted is not None else int(group.get("present") or 0) if isinstance(group, dict) else 0
        counter = Counter(work.watch, f"trajectories of {group_id}", "jobs", self.jobs, quiet=True)
        with work.client.group_trajectory_lines(group_id) as stream:
            for line in lines(moving(stream, in_group(group_id, "trajectory.json"), work.watch)):
                if wanted is not None and _job_of(line) not in wanted:
                    continue
                self.found += not is_absent(line)
                counter.step("fetched", "")
                yield line


class _OneByOne:
    """The documents of a group from an older server: the job list, then each job's document, fetched side by side, handed out in order.
    What the server answers with `null` is left out, as everywhere.
    """

    def __init__(self, work: Work, group_id: str) -> None:
        self._work, self._group_id = work, group_id
        self.jobs = self.found = 0

    def documents(self) -> Iterator[bytes]:
        counter = Counter(self._work.watch, f"trajectories of {self._group_id}", "jobs", None, quiet=True)
        for result in self._work.results(self._ids(counter), lambda job_id: document(self._work, job_id), ordered=True):
            self.jobs += 1
            counter.step("fetched", result.item)
            if isinstance(result.error, NotFound):
                continue
            if result.error is not None:
                raise result.error
            assert result.value is not None
            if result.value.strip() == b"null":
                continue
            self.found += not is_absent(result.value)
            yield result.value
        counter.end("fetched")

    def _ids(self, counter: Counter) -> Iterator[str]:
        empty = True
        for job_id in job_ids(self._work, self._group_id, expect=counter.expect):
            empty = False
            yield job_id
        if empty and not self._work.selection:
            must_exist(self._work.client, self._group_id)


def job_ids(work: Work, group_id: str, *, expect: Callable[[int | None], None] | None = None) -> Iterator[str]:
    """The ids of a group's jobs in the order of the list, or of those that are selected. Raises `ApiError` for a row without one.

    `expect` is told how many there will be, once the server says so.
    """
    if work.selection:
        chosen = choose(work, group_id).jobs
        if expect is not None:
            expect(len(chosen))
        yield from chosen
        return
    listing = paging.all_jobs(work.client, group_id)
    for row in listing:
        if expect is not None:
            expect(listing.total)
        if not isinstance(row.get("job_id"), str) or not row["job_id"]:
            raise ApiError(200, f"a row in the job list of {group_id} has no job_id")
        yield row["job_id"]


class _Named(msgspec.Struct):
    trajectory_id: str = ""


def _job_of(text: bytes) -> str:
    """The job of a document of our server."""
    try:
        return msgspec.json.decode(text, type=_Named).trajectory_id
    except msgspec.DecodeError:
        raise IntegrityError("a line of the group's trajectories is no document") from None


def _size_of(job: object) -> int | None:
    size = job.get("trajectory_bytes") if isinstance(job, dict) else None
    return size if isinstance(size, int) else None


def _laid_out(chunks: Iterable[bytes], job_id: str, layout: Layout) -> Iterator[bytes]:
    """The text of a document's file. A long one is laid out while it arrives."""
    rest = iter(chunks)
    body = b"".join(_up_to(rest, _HELD))
    if len(body) < _HELD:
        if body.strip() == b"null":
            raise ApiError(200, f"the server's answer for the trajectory of {job_id} is null; nothing was written")
        yield layout.text(body)
    else:
        indenter = Indenter(layout)
        yield indenter.feed(body)
        del body
        for chunk in rest:
            yield indenter.feed(chunk)
        yield indenter.finish()
    yield b"\n"


def _up_to(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The first `size` bytes and what is left of the last of them, or all there is."""
    while size > 0 and (chunk := next(chunks, b"")):
        size -= len(chunk)
        yield chunk
