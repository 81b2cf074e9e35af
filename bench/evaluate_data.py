"""The annotated data that the analysis is scored on, read into what the analysis takes, with what is known about each run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchloop_analysis import sources, verdict
from benchloop_analysis.records import Evidence, Facts, JobAnalysis, JobInput, Label
from benchloop_client.contract.trajectory import normalise
from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import RunFile, RunJob, UnreadableRun

#: Folders and files below the data folder that hold runs.
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
WHO_AND_WHEN = "who-and-when/algorithm-generated"
_AGENTRX = "agentrx/tau_retail/tau_dataset_failed.json"
_AGENTRX_TRUTH = "agentrx/ground_truth/tau_ground_truth.json"
#: The one speaker in Who&When that is no agent.
TERMINAL = "Computer_terminal"

Analysed = tuple[JobInput, JobAnalysis]


class Absent(Exception):
    """Data that is not there; the message says which."""


@dataclass(frozen=True, slots=True)
class Blamed:
    """A run of which people say which step is the root of the failure, as a message counted from 0, and who or what sort it was."""

    job: JobInput
    made: JobAnalysis
    root: int
    who: str


@dataclass(frozen=True)
class Data:
    """The folder. Each run is read and analysed once."""

    root: Path

    def path(self, name: str) -> Path:
        """A place in the folder. Raises `Absent`."""
        found = self.root / name
        if not found.exists():
            raise Absent(f"{name} is not there")
        return found

    def run(self, name: str) -> list[Analysed]:
        """Every job of a run with its analysis. Raises `Absent` where the folder lacks it or no reader reads it."""
        if name not in self._runs:
            try:
                self._runs[name] = [(job, verdict.analyse(job)) for job in jobs(self.path(name))]
            except UnreadableRun:
                raise Absent(f"no reader for {name} yet") from None
        return self._runs[name]

    @cached_property
    def _runs(self) -> dict[str, list[Analysed]]:
        return {}

    @cached_property
    def agentrx(self) -> list[Blamed]:
        """AgentRx's annotated retail runs; `who` is the category of the root cause. Its messages are counted from 1. Raises `Absent`."""
        truth = {str(run["trajectory_id"]): _root(run) for run in json.loads(self.path(_AGENTRX_TRUTH).read_text("utf-8"))}
        found = self.run(_AGENTRX)
        roots = [truth[job.facts.task_id] for job, _ in found]
        return [
            Blamed(job, made, int(root["step_number"]) - 1, root["failure_category"])
            for (job, made), root in zip(found, roots, strict=True)
        ]

    @cached_property
    def who_and_when(self) -> list[Blamed]:
        """Who&When's runs; `who` is the agent at fault. Raises `Absent`."""
        return [_blamed(json.loads(file.read_text("utf-8")), file) for file in sorted(self.path(WHO_AND_WHEN).glob("*.json"))]


def _root(run: dict[str, Any]) -> dict[str, Any]:
    wanted = run["root_cause"]["failure_id"]
    found: dict[str, Any] = next(failure for failure in run["failures"] if failure["failure_id"] == wanted)
    return found


def jobs(path: Path) -> Iterator[JobInput]:
    """Every job of a run as the analysis takes it. Raises `UnreadableRun`."""
    for group in open_run(path).groups:
        yield from (_input(job) for job in group.jobs() if isinstance(job, RunJob))


def _input(job: RunJob) -> JobInput:
    return JobInput(
        job_id=job.location,
        facts=Facts.of(job.facts),
        document=job.trajectory().document if job.trajectory is not None else None,
        files=tuple(sources.file_of(file.path, _bytes(file)) for file in job.files if sources.wanted(file.path)),
    )


def _bytes(file: RunFile) -> bytes:
    return file.source if isinstance(file.source, bytes) else file.source.read_bytes()


def _blamed(record: dict[str, Any], file: Path) -> Blamed:
    job = conversation(record, file.stem)
    return Blamed(job, verdict.analyse(job), int(record["mistake_step"]), str(record["mistake_agent"]))


def conversation(record: dict[str, Any], name: str) -> JobInput:
    """A run of Who&When in the normal form: one step a message, the terminal as the user, the speaker's name kept in `extra`."""
    steps = [
        {
            "source": "user" if said["name"] == TERMINAL else "agent",
            "message": said["content"],
            "extra": {"speaker": said["name"], "message_index": place},
        }
        for place, said in enumerate(record["history"])
    ]
    asked = {"source": "user", "message": record["question"], "extra": {"message_index": -1}}
    document = normalise({"agent": {"name": "captain-agent"}, "steps": [asked, *steps]}).document
    return JobInput(job_id=name, facts=Facts(task_id=name, status="completed", reward=0.0), document=document)


def message_of(job: JobInput, step_id: int | None) -> int | None:
    """The message, counted from 0, that a step was made of."""
    steps = (job.document or {}).get("steps") or ()
    found = next((step for step in steps if step["step_id"] == step_id), None)
    return None if found is None else int(found["extra"]["message_index"])


def speaker_of(job: JobInput, step_id: int | None) -> str | None:
    """Who speaks in a step of Who&When."""
    steps = (job.document or {}).get("steps") or ()
    found = next((step for step in steps if step["step_id"] == step_id), None)
    return None if found is None else found["extra"].get("speaker")


def labels(made: JobAnalysis) -> list[tuple[Evidence, ...]]:
    """The evidence of the verdict and then of each label beside it."""
    return [made.verdict.evidence, *(label.evidence for label in made.verdict.secondary)]


def rules(made: JobAnalysis) -> set[str]:
    """The rules that the verdict and the labels beside it come from, without suspicions."""
    return {one.rule_id for found in labels(made) for one in found}


def cited(made: JobAnalysis) -> Iterator[Evidence]:
    """Every quote of an analysis."""
    told = made.verdict
    yield from (*told.evidence, *told.reward_evidence)
    beside: tuple[Label, ...] = (*told.secondary, *told.integrity)
    yield from (one for label in beside for one in label.evidence)
    yield from (signature.example for signature in made.signatures)
    yield from (signal.example for signal in made.signals if signal.example is not None)
    if made.tests is not None and made.tests.evidence is not None:
        yield made.tests.evidence
