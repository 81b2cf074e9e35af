"""Signals: what is counted in each job and only means something across jobs, and from when on it is worth a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping

from benchloop_analysis import words
from benchloop_analysis.group_records import Example, Finding
from benchloop_analysis.group_tally import SignalTally
from benchloop_analysis.intervals import Rate
from benchloop_analysis.records import FaultSide, JobAnalysis, Signal, Struct

#: From how many jobs on, and from which share of one job's places on, a distortion is suspected to be systemic.
JOBS = 3
#: Above this share of a group's jobs, an empty last turn is no accident.
_HALF = 0.5
_SEPARATOR = "\0"


class _Words(Struct, frozen=True, kw_only=True):
    """How a signal is told. `often`: it counts only where more than half of the jobs show it; `says` gets the tally and the subject."""

    fault_side: FaultSide
    says: Callable[[SignalTally, str], str]
    often: bool = False


def _generic(name: str) -> _Words:
    return _Words(
        fault_side="unknown",
        says=lambda tally, subject: (
            f"{words.spelled(name).capitalize()}{_about(subject)} in {_places(tally)}: one fault for all is suspected."
        ),
    )


def _about(subject: str) -> str:
    return f" ({subject})" if subject else ""


def _places(tally: SignalTally) -> str:
    if tally.hits == tally.hit_jobs and tally.of == tally.jobs:
        return f"{tally.hit_jobs:,} of {words.counted(tally.jobs, 'job')}"
    return f"{tally.hits:,} of {words.counted(tally.of, 'place')}, in {tally.hit_jobs:,} of {words.counted(tally.jobs, 'job')}"


WORDS: dict[str, _Words] = {}


def add_signals(tallies: MutableMapping[str, SignalTally], analysis: JobAnalysis) -> None:
    """Count the signals of one job."""
    for signal in analysis.signals:
        key = f"{signal.name}{_SEPARATOR}{signal.subject}"
        tallies.setdefault(key, SignalTally()).add(analysis.job_id, signal.hits, signal.of, _example(signal, analysis.job_id))


def _example(signal: Signal, job_id: str) -> Example:
    step = signal.example.step_id if signal.example is not None else None
    return Example(job_id=job_id, step_id=step, evidence=signal.example)


def found_signals(tallies: Mapping[str, SignalTally], jobs: int) -> list[Finding]:
    """Findings of what enough of the group's `jobs` show, the widest first."""
    found = []
    for key, tally in tallies.items():
        name, _, subject = key.partition(_SEPARATOR)
        told = WORDS.get(name) or _generic(name)
        if tally.marked_jobs < JOBS or (told.often and tally.hit_jobs <= _HALF * max(jobs, 1)):
            continue
        found.append(
            Finding(
                kind="signal",
                name=name,
                says=told.says(tally, subject),
                tier="B",
                fault_side=told.fault_side,
                suspected=True,
                jobs=Rate.of_counts(tally.hit_jobs, max(tally.jobs, tally.hit_jobs)),
                hits=Rate.of_counts(tally.hits, tally.of),
                examples=tuple(tally.examples),
            )
        )
    return sorted(found, key=lambda finding: (-finding.jobs.count, finding.name))
