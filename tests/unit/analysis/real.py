"""The real runs of the shared data as the analysis takes them, read by the readers that a push uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchloop_analysis import sources
from benchloop_analysis.records import Evidence, Facts, JobAnalysis, JobInput
from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import RunFile, RunJob, UnreadableRun

#: Folders and files of the shared data that hold runs.
RUNS = (
    "harbor-kimi",
    "tau-bench",
    "agentrx/tau_retail/tau_dataset_failed.json",
    "agentrx/tau_retail/tau_dataset_full.json",
    "generated/harbor",
    "generated/inspect-ai",
    "harbor-atif-golden",
    "harbor-atif2otel",
    "inspect-ai",
    "swe-agent",
    "mini-swe-agent",
)


def jobs(path: Path) -> Iterator[JobInput]:
    """Every job of a run; none where no reader reads it yet."""
    try:
        groups = open_run(path).groups
    except UnreadableRun:
        return
    for group in groups:
        yield from (job_input(job) for job in group.jobs() if isinstance(job, RunJob))


def job_input(job: RunJob) -> JobInput:
    """A read job as the analysis takes it."""
    return JobInput(
        job_id=job.location,
        facts=Facts.of(job.facts),
        document=job.trajectory().document if job.trajectory is not None else None,
        files=tuple(sources.file_of(file.path, _bytes(file)) for file in job.files if sources.wanted(file.path)),
    )


def _bytes(file: RunFile) -> bytes:
    return file.source if isinstance(file.source, bytes) else file.source.read_bytes()


def cited(analysis: JobAnalysis) -> Iterator[Evidence]:
    """Every quote of an analysis."""
    verdict = analysis.verdict
    yield from (*verdict.evidence, *verdict.reward_evidence)
    for label in (*verdict.secondary, *verdict.integrity):
        yield from label.evidence
    yield from (signature.example for signature in analysis.signatures)
    yield from (signal.example for signal in analysis.signals if signal.example is not None)
    if analysis.tests is not None and analysis.tests.evidence is not None:
        yield analysis.tests.evidence
