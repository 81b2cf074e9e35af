"""Whether there are keys or tokens in a group's run, found out before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchloop_client.actions.events import Counter
from benchloop_client.actions.push_batches import states
from benchloop_client.actions.push_jobs import JobContent, hits, read, safe_group
from benchloop_client.actions.work import Work
from benchloop_client.errors import Cancelled, LocalError
from benchloop_client.formats.records import Rejected, RunFile, RunGroup
from benchloop_client.formats.secrets import Hit, suspicious

#: A file above this size is not judged at a glance.
_GLANCE = 64 << 20


@dataclass(frozen=True, slots=True)
class Looked:
    """`file:line kind` of each key or token in what would be sent, and the number of jobs."""

    hits: tuple[str, ...]
    jobs: int


def look(work: Work, group: RunGroup, *, known: bool) -> Looked:
    """Look through a group. Most runs hold nothing that even resembles a secret, and a glance at the bytes of the files says so; only
    where something does, the jobs are read as they would be sent, and those that the server has already do not count.
    """
    counter = Counter(work.watch, f"reading {group.group_id}", "jobs", None)
    own = tuple(str(hit) for hit in safe_group(group.facts, "stop").hits)
    jobs = _glance(work, group, counter)
    if jobs is not None:
        counter.end("read")
        return Looked(own, jobs)
    looked = _look(work, group, counter, known=known)
    counter.end("read")
    return Looked((*own, *looked.hits), looked.jobs)


def _glance(work: Work, group: RunGroup, counter: Counter) -> int | None:
    """The number of jobs when nothing in the files resembles a secret; None when something does, or the reader cannot tell its files."""
    if group.sources is None:
        return None
    jobs = 0
    for source in group.sources():
        if work.client.cancel.is_set():
            raise Cancelled
        if not source.complete or suspicious(source.location.encode()) or any(map(_resembles, source.files)):
            return None
        jobs += 1
        counter.step("read", source.location)
    return jobs


def _resembles(file: RunFile) -> bool:
    if isinstance(file.source, bytes):
        return suspicious(file.source)
    if file.size > _GLANCE:
        return True
    try:
        with open(file.source, "rb") as stream:
            return suspicious(stream.read())
    except OSError:
        return True


def _look(work: Work, group: RunGroup, counter: Counter, *, known: bool) -> Looked:
    jobs = 0
    found: list[str] = []
    suspects: list[tuple[JobContent, tuple[Hit, ...]]] = []
    for job in group.jobs():
        if work.client.cancel.is_set():
            raise Cancelled
        if isinstance(job, Rejected):
            continue
        jobs += 1
        try:
            content = read(group, job, "stop")
            told = tuple(hits(content))
        except LocalError:
            counter.step("failed", job.location)
            continue
        counter.step("read", job.location)
        if told:
            suspects.append((content.light(), told))
    for content, told in _sent(work, group.group_id, suspects, known=known):
        found += [f"{content.job.location}/{hit.path}:{hit.line} {hit.kind}" for hit in told]
    return Looked(tuple(found), jobs)


def _sent(
    work: Work, group_id: str, suspects: list[tuple[JobContent, tuple[Hit, ...]]], *, known: bool
) -> Iterator[tuple[JobContent, tuple[Hit, ...]]]:
    """Those that would be sent."""
    for part in _parts(suspects):
        there, refused = states(work, group_id, tuple(content for content, _ in part)) if known else ({}, [])
        unwanted = {job_id for job_id, state in there.items() if state.state == "unchanged"} | {each.job_id for each, _ in refused}
        yield from (pair for pair in part if pair[0].job_id not in unwanted)


def _parts(suspects: list[tuple[JobContent, tuple[Hit, ...]]], size: int = 200) -> Iterable[list[tuple[JobContent, tuple[Hit, ...]]]]:
    return (suspects[start : start + size] for start in range(0, len(suspects), size))
