"""The ZIP files of a download task. What has arrived stays in a hidden folder, so that a broken run is taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchloop_client.actions import artifact_lists as lists
from benchloop_client.actions import bulk, bulk_tasks, trajectory
from benchloop_client.actions import task_media as media
from benchloop_client.actions.destination import Content, Destination, beside
from benchloop_client.actions.events import Archiving, Counter, Skipped, Wrote
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.task_manifest import JobOutcome, Outcomes, Task, metadata_file, trajectory_file
from benchloop_client.actions.work import Counted, Work
from benchloop_client.actions.zip_parts import LEVEL, Parts, zip_chunks
from benchloop_client.contract.ids import encoded
from benchloop_client.errors import ApiError, BenchloopError
from benchloop_client.transfer.journal import Status
from benchloop_client.transfer.plan import Wanted
from benchloop_client.transfer.pool import FATAL

#: Fetches one job into the parts.
_FetchJob = Callable[[Work, Parts, str, Layout], JobOutcome]


def trajectories(work: Work, task_id: str, destination: Destination, *, level: int = LEVEL) -> Report:
    """Write `<task>_trajectories.zip`: trajectories, media, metadata, manifest, deflated at `level` 0 to 9. A job whose trajectory fails is
    left out and listed.
    """
    kind = _Kind("_trajectories.zip", "task trajectory downloads", _trajectory_job, level, sides=True)
    return _archive(work, task_id, destination, kind)


def metadata(work: Work, task_id: str, destination: Destination, *, level: int = LEVEL) -> Report:
    """Write `<task>_metadata.zip`: metadata and a manifest, deflated at `level`."""
    return _archive(work, task_id, destination, _Kind("_metadata.zip", "task metadata downloads", _metadata_job, level, sides=False))


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the two archives; `sides`: beside the main part of a job there are metadata and media."""

    suffix: str
    label: str
    fetch: _FetchJob
    level: int
    sides: bool


def _archive(work: Work, task_id: str, destination: Destination, kind: _Kind) -> Report:
    wanted = Wanted(beside(task_id, kind.suffix), _source(work, task_id, destination, kind))
    kept = destination.kept(wanted.path, wanted.source)
    if kept is not None:
        work.watch(Skipped(kept.path))
        return Report(1)
    found: list[tuple[dict[str, Any], list[str]]] = []
    report = work.in_turn([task_id], lambda task: found.append(lists.task_jobs(work, task)))
    if not report.ok:
        return report
    answer, jobs = found[0]
    if destination.rehearsing:
        destination.save(wanted.path, wanted.source, lambda _etag: Content(()))
        return Report(1)
    task = Task(task_id, answer, jobs)
    count = Counted(Counter(work.watch, kind.label, "jobs", len(jobs), timed=True), "processed")
    if bulk.offered(work):
        archive = bulk_tasks.Archive(task, wanted, kind.level, kind.sides)
        return bulk_tasks.write(work, archive, destination, count=count)
    return _one_by_one(work, task, wanted, destination, kind, count)


def _source(work: Work, task_id: str, destination: Destination, kind: _Kind) -> str:
    """The same jobs deflated otherwise are another file."""
    source = destination.laid_out(work.selection.source(f"{kind.suffix} {task_id}", task_id))
    return source if kind.level == LEVEL else f"{source} level={kind.level}"


def _one_by_one(work: Work, task: Task, wanted: Wanted, destination: Destination, kind: _Kind, count: Counted) -> Report:
    """From a server without bulk streams: each job by itself, into a hidden folder, and then into the ZIP."""
    parts = Parts(destination.root, wanted.path, keep=destination.resumed)
    outcomes = _fetched(work, parts, task, kind, destination.layout, count)
    report = outcomes.report()
    if report.done:
        manifest = destination.layout.value(outcomes.manifest(sides=kind.sides))
        work.watch(Archiving(destination.root / wanted.path))
        status: Status = "done" if report.ok else "missing"
        entries = _entries(parts, outcomes, manifest)
        outcome = destination.save(wanted.path, wanted.source, lambda _etag: Content(zip_chunks(entries, level=kind.level), status=status))
        work.watch(Wrote(outcome.path))
    if not report.broken_off:
        parts.remove()
    return report


def _fetched(work: Work, parts: Parts, task: Task, kind: _Kind, layout: Layout, count: Counted) -> Outcomes:
    outcomes = Outcomes(task)
    for result in work.results(task.jobs, lambda job_id: kind.fetch(work, parts, job_id, layout), ordered=True):
        outcome = result.value if result.value is not None else JobOutcome()
        if isinstance(result.error, BenchloopError):
            outcome = JobOutcome(Failure(result.item, result.error))
        if any(outcome.failures()):
            outcomes.told[result.item] = outcome
        count.ended(result.item, None, failed=outcome.failure is not None)
    return outcomes


def _trajectory_job(work: Work, parts: Parts, job_id: str, layout: Layout) -> JobOutcome:
    outcome = JobOutcome()
    name = f"trajectories/{trajectory_file(job_id)}"
    if not parts.has(name):
        document = trajectory.document(work, job_id)
        if document.strip() == b"null":
            raise ApiError(200, f"the server's answer for the trajectory of {job_id} is null")
        parts.put(name, layout.text(document) + b"\n")
    outcome.sources = media.fetch(work, parts, job_id, parts.read(name))
    try:
        _put_metadata(work, parts, job_id, layout)
    except FATAL:
        raise
    except BenchloopError as error:
        outcome.metadata = Failure(job_id, error, "meta: ")
    return outcome


def _metadata_job(work: Work, parts: Parts, job_id: str, layout: Layout) -> JobOutcome:
    _put_metadata(work, parts, job_id, layout)
    return JobOutcome()


def _put_metadata(work: Work, parts: Parts, job_id: str, layout: Layout) -> None:
    name = f"metadata/{metadata_file(job_id)}"
    if not parts.has(name):
        parts.put(name, layout.value(work.client.job_meta(job_id)) + b"\n")


def _entries(parts: Parts, outcomes: Outcomes, manifest: bytes) -> Iterator[tuple[str, Path | bytes]]:
    """What goes into the ZIP, in the documented order."""
    yield from parts.files("trajectories", map(trajectory_file, outcomes.good()))
    yield from parts.files("source", map(encoded, outcomes.good()))
    yield from parts.files("metadata", map(metadata_file, outcomes.good()))
    yield "manifest.json", manifest + b"\n"
