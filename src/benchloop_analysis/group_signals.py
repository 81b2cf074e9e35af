"""Signals: what is counted in each job and only means something across jobs, and from when on it is worth a finding."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from benchloop_analysis import words
from benchloop_analysis.group_records import Finding
from benchloop_analysis.group_tally import SignalTally
from benchloop_analysis.intervals import Rate
from benchloop_analysis.records import JobAnalysis

#: From how many marked jobs on something is suspected to lie between model and tool, and not in each job by itself.
JOBS = 3
#: A last turn that is empty now and then is nothing; in this share of the jobs it is told, above half of them the harness is suspected.
_LAST_TOLD, _LAST_SUSPECTED = 0.2, 0.5
_LAST = "empty_final_turn"
_SEPARATOR = "\0"
_SUSPICION = "One fault of the harness, or of what serves the model, is suspected rather than as many of the model."


def add_signals(tallies: MutableMapping[str, SignalTally], analysis: JobAnalysis) -> None:
    """Count the signals of one job."""
    for signal in analysis.signals:
        tallies.setdefault(f"{signal.name}{_SEPARATOR}{signal.subject}", SignalTally()).add(analysis.job_id, signal)


def found_signals(tallies: Mapping[str, SignalTally], jobs: int, says: Mapping[str, str] | None = None) -> list[Finding]:
    """Findings of what enough of the group's `jobs` show, the widest first. `says`: the words of the rules for each signal."""
    found = []
    for key, tally in tallies.items():
        name, _, subject = key.partition(_SEPARATOR)
        share = tally.hit_jobs / max(jobs, 1)
        if tally.marked_jobs < JOBS or (name == _LAST and share < _LAST_TOLD):
            continue
        told = (says or {}).get(name) or words.spelled(name)
        suspected = name != _LAST or share > _LAST_SUSPECTED
        found.append(
            Finding(
                kind="signal",
                name=name,
                says=_sentence(told, subject, tally, jobs) + (f" {_SUSPICION}" if suspected else ""),
                tier="B",
                fault_side="harness" if suspected else "unknown",
                suspected=suspected,
                jobs=Rate.of_counts(tally.hit_jobs, max(jobs, tally.hit_jobs)),
                hits=Rate.of_counts(tally.hits, tally.of),
                examples=tuple(tally.examples),
            )
        )
    return sorted(found, key=lambda finding: (-finding.jobs.count, finding.name))


def _sentence(told: str, subject: str, tally: SignalTally, jobs: int) -> str:
    """How many, where, and what it does."""
    where = f"in {tally.hit_jobs:,} of {words.counted(jobs, 'job')}"
    if not subject:
        return f"{told[:1].upper()}{told[1:]}: {where}."
    said = f"{told[:1].upper()}{told[1:]}: {tally.hits:,} of {words.counted(tally.of, 'call')} of {subject}, {where}."
    others = tally.of - tally.hits
    if tally.silent_hits:
        rest = f", {_percent(tally.silent_others, others)} of the other calls there" if others else ""
        said += f" {_percent(tally.silent_hits, tally.hits)} of them returned nothing{rest}."
    return said


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %"
