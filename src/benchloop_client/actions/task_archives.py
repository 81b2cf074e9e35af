"""The ZIP files of a download task. What has arrived stays in a hidden folder beside the target, so that a broken run is taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchloop_client.actions import artifact_lists as lists
from benchloop_client.actions import task_media as media
from benchloop_client.actions import trajectory
from benchloop_client.actions.destination import Content, Destination, beside
from benchloop_client.actions.events import Archiving, Counter, Skipped, Wrote
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.work import Counted, Work
from benchloop_client.actions.zip_parts import Parts, zip_chunks
from benchloop_client.contract.ids import encoded
from benchloop_client.errors import BenchloopError
from benchloop_client.transfer.journal import Status
from benchloop_client.transfer.pool import FATAL


@dataclass
class _Job:
    """What one job of the task came to: its own failure, else those of its metadata and of its media files."""

    failure: Failure | None = None
    metadata: Failure | None = None
    sources: list[Failure] = field(default_factory=list)

    def failures(self) -> Iterator[Failure]:
        """All of them."""
        yield from (failure for failure in (self.failure, self.metadata, *self.sources) if failure is not None)


#: Fetches one job into the parts.
_FetchJob = Callable[[Work, Parts, str, Layout], _Job]


def trajectories(work: Work, task_id: str, destination: Destination) -> Report:
    """Write `<task>_trajectories.zip`: trajectories, media, metadata, manifest. A job whose trajectory fails is left out and listed."""
    return _archive(work, task_id, destination, _Kind("_trajectories.zip", "task trajectory downloads", _trajectory_job, sides=True))


def metadata(work: Work, task_id: str, destination: Destination) -> Report:
    """Write `<task>_metadata.zip`: metadata and a manifest."""
    return _archive(work, task_id, destination, _Kind("_metadata.zip", "task metadata downloads", _metadata_job, sides=False))


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the two archives; `sides`: beside the main part of a job there are metadata and media."""

    suffix: str
    label: str
    fetch: _FetchJob
    sides: bool


def _archive(work: Work, task_id: str, destination: Destination, kind: _Kind) -> Report:
    path = beside(task_id, kind.suffix)
    source = destination.laid_out(work.selection.source(f"{kind.suffix} {task_id}", task_id))
    kept = destination.kept(path, source)
    if kept is not None:
        work.watch(Skipped(kept.path))
        return Report(1)
    found: list[tuple[dict[str, Any], list[str]]] = []
    report = work.in_turn([task_id], lambda task: found.append(lists.task_jobs(work, task)))
    if not report.ok:
        return report
    task, jobs = found[0]
    if destination.rehearsing:
        destination.save(path, source, lambda _etag: Content(()))
        return Report(1)
    parts = Parts(destination.root, path, keep=destination.resumed)
    outcomes = _fetched(work, parts, jobs, kind, destination.layout)
    report = Report(
        sum(outcomes[job_id].failure is None for job_id in jobs),
        tuple(failure for job_id in jobs for failure in outcomes[job_id].failures()),
    )
    if report.done:
        manifest = _manifest(task_id, task, outcomes, kind)
        _write(work, destination, _Target(path, source, complete=report.ok), _entries(parts, outcomes, destination.layout.value(manifest)))
    if not report.broken_off:
        parts.remove()
    return report


def _fetched(work: Work, parts: Parts, jobs: list[str], kind: _Kind, layout: Layout) -> dict[str, _Job]:
    count = Counted(Counter(work.watch, kind.label, "jobs", len(jobs), timed=True), "processed")
    outcomes: dict[str, _Job] = {}
    for result in work.results(jobs, lambda job_id: kind.fetch(work, parts, job_id, layout), ordered=True):
        outcome = result.value if result.value is not None else _Job()
        if isinstance(result.error, BenchloopError):
            outcome = _Job(Failure(result.item, result.error))
        outcomes[result.item] = outcome
        count.ended(result.item, None, failed=outcome.failure is not None)
    return outcomes


def _trajectory_job(work: Work, parts: Parts, job_id: str, layout: Layout) -> _Job:
    outcome = _Job()
    name = f"trajectories/{_trajectory_file(job_id)}"
    if not parts.has(name):
        parts.put(name, layout.text(trajectory.document(work, job_id)) + b"\n")
    outcome.sources = media.fetch(work, parts, job_id, parts.read(name))
    try:
        _put_metadata(work, parts, job_id, layout)
    except FATAL:
        raise
    except BenchloopError as error:
        outcome.metadata = Failure(job_id, error, "meta: ")
    return outcome


def _metadata_job(work: Work, parts: Parts, job_id: str, layout: Layout) -> _Job:
    _put_metadata(work, parts, job_id, layout)
    return _Job()


def _put_metadata(work: Work, parts: Parts, job_id: str, layout: Layout) -> None:
    name = f"metadata/{encoded(job_id)}.json"
    if not parts.has(name):
        parts.put(name, layout.value(work.client.job_meta(job_id)) + b"\n")


def _trajectory_file(job_id: str) -> str:
    return f"{encoded(job_id)}_trajectory.json"


def _manifest(task_id: str, task: dict[str, Any], outcomes: dict[str, _Job], kind: _Kind) -> dict[str, Any]:
    good = [job_id for job_id, job in outcomes.items() if job.failure is None]
    manifest: dict[str, Any] = {
        "task_id": task_id,
        "group_id": task.get("group_id"),
        "created_at": task.get("created_at"),
        "total_jobs": len(outcomes),
        "successful_jobs": len(good),
        "failed_jobs": len(outcomes) - len(good),
        "success_job_ids": good,
        "failures": _listed({job_id: [job.failure] for job_id, job in outcomes.items() if job.failure}),
    }
    if kind.sides:
        manifest["metadata_failures"] = _listed({job_id: [job.metadata] for job_id, job in outcomes.items() if job.metadata})
        manifest["source_failures"] = _listed({job_id: job.sources for job_id, job in outcomes.items() if job.sources})
    return manifest


def _listed(failures: Mapping[str, Sequence[Failure]]) -> list[dict[str, str]]:
    return [{"job_id": job_id, "error": "; ".join(str(failure.error) for failure in found)} for job_id, found in failures.items()]


def _entries(parts: Parts, outcomes: dict[str, _Job], manifest: bytes) -> Iterator[tuple[str, Path | bytes]]:
    """What goes into the ZIP, in the documented order."""
    good = [job_id for job_id, job in outcomes.items() if job.failure is None]
    yield from parts.files("trajectories", map(_trajectory_file, good))
    yield from parts.files("source", map(encoded, good))
    yield from parts.files("metadata", (f"{encoded(job_id)}.json" for job_id in good))
    yield "manifest.json", manifest + b"\n"


@dataclass(frozen=True, slots=True)
class _Target:
    """The ZIP: its path, where its bytes come from, and whether every job is in it."""

    path: str
    source: str
    complete: bool


def _write(work: Work, destination: Destination, target: _Target, entries: Iterator[tuple[str, Path | bytes]]) -> None:
    work.watch(Archiving(destination.root / target.path))
    status: Status = "done" if target.complete else "missing"
    outcome = destination.save(target.path, target.source, lambda _etag: Content(zip_chunks(entries), status=status))
    work.watch(Wrote(outcome.path))
