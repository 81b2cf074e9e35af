"""What stands in the manifest of a download task's ZIP, and how its entries are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchloop_client.actions.report import Failure, Report
from benchloop_client.contract.ids import encoded


@dataclass(frozen=True, slots=True)
class Task:
    """A download task: the id that was asked for, the server's answer, and the jobs that are wanted, each once."""

    task_id: str
    answer: Mapping[str, Any]
    jobs: Sequence[str]


@dataclass
class JobOutcome:
    """What one job of the task came to: its own failure, else those of its metadata and of its media files."""

    failure: Failure | None = None
    metadata: Failure | None = None
    sources: list[Failure] = field(default_factory=list)

    def failures(self) -> Iterator[Failure]:
        """All of them."""
        yield from (failure for failure in (self.failure, self.metadata, *self.sources) if failure is not None)


@dataclass
class Outcomes:
    """What became of a task; only jobs with something to tell take room."""

    task: Task
    told: dict[str, JobOutcome] = field(default_factory=dict)

    def of(self, job_id: str) -> JobOutcome:
        """A job's outcome, to be filled in."""
        return self.told.setdefault(job_id, JobOutcome())

    def failed(self, job_id: str) -> bool:
        """Whether the job is left out."""
        outcome = self.told.get(job_id)
        return outcome is not None and outcome.failure is not None

    def good(self) -> Iterator[str]:
        """The jobs that are in the ZIP, in order."""
        return (job_id for job_id in self.task.jobs if not self.failed(job_id))

    def report(self) -> Report:
        """How many are in the ZIP, and all failures in the order of the jobs."""
        failing = [self.told[job_id] for job_id in self.task.jobs if job_id in self.told] if self.told else []
        return Report(sum(1 for _ in self.good()), tuple(failure for outcome in failing for failure in outcome.failures()))

    def manifest(self, *, sides: bool) -> dict[str, Any]:
        """The manifest; `sides`: metadata and media stand beside the trajectories."""
        good = list(self.good())
        told = {job_id: self.told[job_id] for job_id in self.task.jobs if job_id in self.told} if self.told else {}
        manifest: dict[str, Any] = {
            "task_id": self.task.task_id,
            "group_id": self.task.answer.get("group_id"),
            "created_at": self.task.answer.get("created_at"),
            "total_jobs": len(self.task.jobs),
            "successful_jobs": len(good),
            "failed_jobs": len(self.task.jobs) - len(good),
            "success_job_ids": good,
            "failures": _listed({job_id: [job.failure] for job_id, job in told.items() if job.failure}),
        }
        if sides:
            manifest["metadata_failures"] = _listed({job_id: [job.metadata] for job_id, job in told.items() if job.metadata})
            manifest["source_failures"] = _listed({job_id: job.sources for job_id, job in told.items() if job.sources})
        return manifest


def trajectory_file(job_id: str) -> str:
    """The name of a job's trajectory in `trajectories/`."""
    return f"{encoded(job_id)}_trajectory.json"


def metadata_file(job_id: str) -> str:
    """The name of a job's metadata in `metadata/`."""
    return f"{encoded(job_id)}.json"


def _listed(failures: Mapping[str, Sequence[Failure]]) -> list[dict[str, str]]:
    return [{"job_id": job_id, "error": "; ".join(str(failure.error) for failure in found)} for job_id, found in failures.items()]
