"""Errors across jobs: those that read alike are one, and the one that cost most time comes first."""

from __future__ import annotations

import msgspec

from benchloop_analysis.group_records import ErrorSignature, Example, Signatures
from benchloop_analysis.group_tally import SIGNATURES, Addable, add_to
from benchloop_analysis.records import Facts, JobAnalysis, Signature

_SEPARATOR = "\0"


class SignatureTally(Addable):
    """One signature: its jobs, its errors, the seconds spent on them (None: no job says), and when and where it was first seen."""

    tool: str
    error_class: str
    template: str
    example: Example
    jobs: int = 0
    count: int = 0
    seconds: float | None = None
    first_seen: str | None = None

    def take(self, other: SignatureTally) -> None:
        """Add the counts of `other`; the earlier example stays."""
        self.jobs += other.jobs
        self.count += other.count
        if other.seconds is not None:
            self.seconds = (self.seconds or 0.0) + other.seconds
        if other.first_seen is not None and (self.first_seen is None or other.first_seen < self.first_seen):
            self.first_seen, self.example = other.first_seen, other.example


class SignatureTable(msgspec.Struct):
    """All signatures of a group, within a bound: of more than twice `SIGNATURES`, the cheapest are forgotten and counted in `dropped`."""

    kept: dict[str, SignatureTally] = {}
    dropped: int = 0

    def add(self, analysis: JobAnalysis, facts: Facts) -> None:
        """Take in the errors of one job."""
        add_to(self.kept, {_key(one): _tally(one, analysis, facts) for one in analysis.signatures})
        self._prune()

    def take(self, other: SignatureTable) -> None:
        """Take in another table."""
        add_to(self.kept, other.kept)
        self.dropped += other.dropped
        self._prune()

    def ranked(self, most: int) -> Signatures:
        """The `most` expensive ones: by seconds where any were recorded, else by count."""
        tallies = sorted(self.kept.values(), key=_rank)
        timed = any(tally.seconds for tally in tallies)
        return Signatures(
            ranked_by="seconds" if timed else "count",
            total=len(tallies),
            dropped=self.dropped,
            rows=tuple(_row(tally) for tally in tallies[:most]),
        )

    def _prune(self) -> None:
        if len(self.kept) <= 2 * SIGNATURES:
            return
        ranked = sorted(self.kept.items(), key=lambda item: _rank(item[1]))
        self.dropped += len(ranked) - SIGNATURES
        self.kept = dict(ranked[:SIGNATURES])


def _key(signature: Signature) -> str:
    return _SEPARATOR.join((signature.tool, signature.error_class, signature.template))


def _tally(signature: Signature, analysis: JobAnalysis, facts: Facts) -> SignatureTally:
    step = signature.example.step_id
    return SignatureTally(
        tool=signature.tool,
        error_class=signature.error_class,
        template=signature.template,
        example=Example(job_id=analysis.job_id, step_id=step, evidence=signature.example),
        jobs=1,
        count=signature.count,
        seconds=signature.seconds,
        first_seen=facts.started_at,
    )


def _rank(tally: SignatureTally) -> tuple[float, int, int, str]:
    return -(tally.seconds or 0.0), -tally.count, -tally.jobs, f"{tally.tool}{_SEPARATOR}{tally.error_class}{_SEPARATOR}{tally.template}"


def _row(tally: SignatureTally) -> ErrorSignature:
    return ErrorSignature(
        tool=tally.tool,
        error_class=tally.error_class,
        template=tally.template,
        jobs=tally.jobs,
        count=tally.count,
        seconds=tally.seconds,
        first_seen=tally.first_seen,
        example=tally.example,
    )
