"""An analysis as a person reads it: the pass rate both ways, what concerns many jobs, the reasons, and the jobs that failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchloop_client.cli import tty
from benchloop_client.cli.table import Cell, Table

if TYPE_CHECKING:
    from benchloop_analysis.group_records import Finding, GroupReport
    from benchloop_client.actions.analyze import AnalysedGroup

_FINDINGS, _NOTES, _JOBS = 6, 6, 40
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def render(group: AnalysedGroup, *, width: int | None, colour: bool) -> Iterator[bytes]:
    """All lines about one group; its tables are at most `width` columns wide."""
    report = group.report
    headline = tty.plain(report.headline)
    yield f"{_BOLD}{headline}{_PLAIN}\n".encode() if colour else f"{headline}\n".encode()
    for text in _lines(report):
        yield " ".join(tty.plain(text).split()).encode("utf-8", "replace") + b"\n"
    if report.reasons:
        yield b"\n"
        heads = ("reason", "jobs", "share", "95 % interval", "for example")
        yield from Table(heads, lambda: _reasons(report), width=width).text(colour=colour)
    failed = list(_failed(group))
    if failed:
        yield b"\n"
        yield from Table(("task", "why", "what", "job"), lambda: iter(failed), width=width).text(colour=colour)
    more = report.failed - len(failed)
    if more > 0:
        yield f"… and {more:,} more failed job(s): --format jsonl lists all, -o DIR writes a report for each\n".encode()


def _lines(report: GroupReport) -> Iterator[str]:
    yield f"group {report.group_id}: {report.present:,} job(s), {report.rewards.invalid:,} reward(s) not valid"
    yield from (f"- {notice}" for notice in report.notices)
    yield from (f"- {_finding(finding)}" for finding in report.findings[:_FINDINGS])
    yield from (f"- task {note.task_id}: {note.says}" for note in report.task_notes[:_NOTES])


def _finding(finding: Finding) -> str:
    jobs = ", ".join(example.job_id for example in finding.examples[:2])
    return f"{finding.says} For example {jobs}." if jobs else finding.says


def _reasons(report: GroupReport) -> Iterator[list[Cell]]:
    for reason in report.reasons:
        for sub in reason.subs:
            share = sub.share
            yield [
                Cell.of(f"{reason.fail_reason} > {sub.sub_fail_reason}" if sub.sub_fail_reason else reason.fail_reason),
                Cell.of(f"{share.count:,}", number=True),
                Cell.of(_percent(share.value), number=True),
                Cell.of(f"{_percent(share.low)} - {_percent(share.high)}", number=True),
                Cell.of(", ".join(example.job_id for example in sub.examples[:1])),
            ]


def _failed(group: AnalysedGroup) -> Iterator[list[Cell]]:
    """The first failed jobs, in the order of the run."""
    left = _JOBS
    for job in group.jobs():
        if job["fail_reason"] is not None and left:
            left -= 1
            why = job["sub_fail_reason"] or job["fail_reason"]
            yield [Cell.of(str(text)) for text in (job["task_id"], why, job["says"], job["job_id"])]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
