"""Weakness reports (rsi): another kind of report, with its own calls and its own place for the Markdown."""

from __future__ import annotations

from typing import Any

from benchloop_client.actions.reports import Kind, Text
from benchloop_client.errors import IntegrityError


def _text_of(name: str) -> Text:
    def text(answer: Any) -> str | None:
        if not isinstance(answer, dict | None):
            raise IntegrityError("the answer is not an object")
        report = (answer or {}).get("report")
        found = report.get(name) if isinstance(report, dict) else None
        return found if isinstance(found, str) and found else None

    return text


RSI = Kind(
    name="rsi",
    word="weakness report",
    of_job=lambda client, job_id: client.job_rsi(job_id),
    of_group=lambda client, group_id: client.group_rsi(group_id),
    trigger_job=lambda client, job_id: client.job_rsi_trigger(job_id),
    trigger_group=lambda client, group_id, passed: client.group_rsi_trigger(group_id, include_passed=passed),
    job_text=_text_of("report_md"),
    group_text=_text_of("summary_md"),
    job_columns=("job_id", "status", "report.sibling", "report.report_md"),
    group_columns=("group_id", "status", "report.headline", "report.tasks"),
)
