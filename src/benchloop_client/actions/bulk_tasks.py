"""A download task's ZIP from bulk streams: trajectories, then media, then metadata, then the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchloop_client.actions import bulk_archives as zips
from benchloop_client.actions import task_media as media
from benchloop_client.actions.bulk import Origin
from benchloop_client.actions.bulk_archives import Filled, Section
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.events import Archiving, Wrote
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.task_manifest import Outcomes, Task, metadata_file, trajectory_file
from benchloop_client.actions.work import Counted, Work
from benchloop_client.actions.zip_parts import Parts
from benchloop_client.contract.bulk import BulkKind
from benchloop_client.contract.ids import encoded
from benchloop_client.errors import IntegrityError, NotFound
from benchloop_client.transfer import files
from benchloop_client.transfer.journal import Entry, Status
from benchloop_client.transfer.plan import Wanted
from benchloop_client.transfer.resume import Part

_COPY = 1 << 18


@dataclass(frozen=True, slots=True)
class Archive:
    """The ZIP to be written: of which task, where, how hard it is deflated; `sides`: with trajectories and media, else metadata alone."""

    task: Task
    wanted: Wanted
    level: int
    sides: bool


def write(work: Work, archive: Archive, destination: Destination, *, count: Counted) -> Report:
    """Write the ZIP, unless none of the jobs is there any more. A stream that breaks off is the failure of the whole: what has arrived is
    kept for the next try.
    """
    destination.claimed(archive.wanted)
    reports: list[Report] = []
    run = _Run(work, archive, destination, count)
    report = work.in_turn([archive.task.task_id], lambda _task: reports.append(run()))
    return reports[-1] if report.ok else report


class _Run:
    """One ZIP."""

    def __init__(self, work: Work, archive: Archive, destination: Destination, count: Counted) -> None:
        self._work, self._archive, self._destination, self._count = work, archive, destination, count
        self._media = Parts(destination.root, archive.wanted.path, keep=destination.resumed)

    def __call__(self) -> Report:
        wanted, task = self._archive.wanted, self._archive.task
        outcomes = Outcomes(task)
        with ExitStack() as stack, self._destination.noting_failure(wanted):
            part = stack.enter_context(self._destination.parts.open(wanted.source, wanted.path, digest=False))
            side = None
            if self._archive.sides:
                filled = self._filled(part, "trajectories", _trajectory, outcomes, counted=True)
                self._fetch_media(part, filled, outcomes)
                side = stack.enter_context(self._destination.parts.open(f"{wanted.source} metadata", wanted.path, digest=False))
                self._filled(side, "metadata", _metadata, outcomes, counted=False)
            else:
                self._filled(part, "metadata", _metadata, outcomes, counted=True)
            report = outcomes.report()
            if report.done:
                self._put_together(part, side, outcomes, report)
            for used in (part, side):
                if used is not None:
                    used.abandon()
            if not report.broken_off:
                self._media.remove()
        return report

    def _filled(self, part: Part, kind: BulkKind, name: Callable[[str], str], outcomes: Outcomes, *, counted: bool) -> Filled:
        """Fetch one stream; jobs that are gone are failures."""
        task = self._archive.task
        origin = Origin(kind, f"{kind} of {task.task_id}", task=task.task_id)
        only = frozenset(task.jobs).__contains__ if self._work.selection else None
        section = Section(origin, name, self._destination.layout, self._archive.level, only)
        filled = zips.fill(self._work, section, part, count=self._count if counted else None)
        if filled.jobs != len(task.jobs):
            raise IntegrityError(f"{origin.name}: {filled.jobs} job(s) came, the task has {len(task.jobs)}")
        for job_id in filled.gone:
            error = NotFound(404, f"job {job_id} does not exist any more")
            if counted:
                outcomes.of(job_id).failure = Failure(job_id, error)
            elif not outcomes.failed(job_id):
                outcomes.of(job_id).metadata = Failure(job_id, error, "meta: ")
        return filled

    def _fetch_media(self, part: Part, filled: Filled, outcomes: Outcomes) -> None:
        """Fetch what the trajectories name into the hidden folder beside the ZIP, which outlives a broken run."""
        named = zips.media_of(part, filled, self._archive.task.jobs, _trajectory)

        def one(job: tuple[str, int]) -> list[Failure]:
            return media.fetch(self._work, self._media, job[0], zips.content_at(part, job[1]))

        for result in self._work.results(named, one, ordered=True):
            if result.error is not None:
                raise result.error
            if result.value:
                outcomes.of(result.item[0]).sources = result.value

    def _put_together(self, part: Part, side: Part | None, outcomes: Outcomes, report: Report) -> None:
        wanted, level = self._archive.wanted, self._archive.level
        self._work.watch(Archiving(self._destination.root / wanted.path))
        if side is not None:
            for name, path in self._media.files("source", map(encoded, outcomes.good())):
                zips.append(part, name, _chunks(path), level)
            zips.append_part(part, side)
        manifest = self._destination.layout.value(outcomes.manifest(sides=self._archive.sides))
        zips.append(part, "manifest.json", (manifest, b"\n"), level)
        zips.close(part)
        _, sha256 = files.digest_of(part.path)
        placed = part.finish(wanted.path)
        status: Status = "done" if report.ok else "missing"
        self._destination.journal.add(
            Entry(path=wanted.path, source=wanted.source, status=status, size=placed.size, sha256=sha256, durable=placed.durable)
        )
        self._work.watch(Wrote(placed.path))


def _trajectory(job_id: str) -> str:
    return f"trajectories/{trajectory_file(job_id)}"


def _metadata(job_id: str) -> str:
    return f"metadata/{metadata_file(job_id)}"


def _chunks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(_COPY):
            yield chunk
