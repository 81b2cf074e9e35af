"""Calls about what the analysis found: reports, weakness reports and behaviour tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchloop_client.actions import behaviour, reports
from benchloop_client.actions.report import Report
from benchloop_client.actions.reports import REPORT, Kind, Wish
from benchloop_client.actions.rsi import RSI
from benchloop_client.actions.shapes import as_object
from benchloop_client.actions.waiting import Patience
from benchloop_client.contract.analysis import SAMPLE_SIZE, SCORING_LIMIT
from benchloop_client.library.connected import Connected

Record = dict[str, Any]


class Analysis(Connected):
    """Records as in docs/reference/records.md. `status` is `not_analysed` until there is an answer; asking again for the same is free.

    `wait`: seconds to wait until it is there (None: not at all); the record is the finished one then. Raises `NotReady` where it does not
    come in time, fails, or will not come because the server does not analyse.
    """

    def job_report(self, job_id: str) -> Record:
        """`{job_id, status, reports, fail_reason, ...}`: why a job failed, in words; `reports` newest first. Raises `NotFound`."""
        return as_object(self.api.job_report(job_id), f"the report of {job_id}")

    def group_report(self, group_id: str) -> Record:
        """The report of a group, as `job_report`. Raises `NotFound`."""
        return as_object(self.api.group_report(group_id), f"the report of {group_id}")

    def trigger_job_report(self, job_id: str, *, wait: float | None = None) -> Record:
        """Ask for the report of a job; the answer has its state."""
        return self._triggered(REPORT, Wish(jobs=(job_id,)), wait)

    def trigger_group_report(self, group_id: str, *, include_passed: bool = False, wait: float | None = None) -> Record:
        """Ask for the report of a group; `include_passed`: jobs that passed are looked at anew, too."""
        return self._triggered(REPORT, Wish(groups=(group_id,), include_passed=include_passed), wait)

    def job_rsi(self, job_id: str) -> Record:
        """`{job_id, status, report}`: the weakness report of a job. Raises `NotFound`."""
        return as_object(self.api.job_rsi(job_id), f"the weakness report of {job_id}")

    def group_rsi(self, group_id: str) -> Record:
        """The weakness report of a group. Raises `NotFound`."""
        return as_object(self.api.group_rsi(group_id), f"the weakness report of {group_id}")

    def trigger_job_rsi(self, job_id: str, *, wait: float | None = None) -> Record:
        """Ask for the weakness report of a job."""
        return self._triggered(RSI, Wish(jobs=(job_id,)), wait)

    def trigger_group_rsi(self, group_id: str, *, include_passed: bool = False, wait: float | None = None) -> Record:
        """Ask for the weakness report of a group."""
        return self._triggered(RSI, Wish(groups=(group_id,), include_passed=include_passed), wait)

    def behavior_steps(self, group_id: str) -> Record:
        """`{group_id, steps, samplingMode, hasStep}`: which training steps a behaviour task can look at."""
        return as_object(self.api.behavior_steps(group_id), f"the steps of {group_id}")

    def create_behavior_task(
        self,
        group_id: str,
        *,
        steps: Iterable[int] = (),
        sample_size: int = SAMPLE_SIZE,
        scoring_limit: int = SCORING_LIMIT,
        wait: float | None = None,
    ) -> Record:
        """Start to look which behaviour goes with reward; the record has the task's `uid`.

        A group with steps wants 1 to 20 of them; `sample_size` jobs are drawn from each. Raises `UsageError` for what the group does not
        allow, before anything is asked for.
        """
        wish = behaviour.Wish(group_id, tuple(steps), sample_size, scoring_limit)
        records, report = behaviour.run(self._work(), wish, patience=_patience(wait))
        return _only(records, report, f"the behaviour task of {group_id}")

    def behavior_tasks(self, group_id: str) -> list[Record]:
        """Every behaviour task of a group, newest first."""
        found = as_object(self.api.behavior_tasks(group_id), f"the behaviour tasks of {group_id}").get("tasks")
        return [task for task in found if isinstance(task, dict)] if isinstance(found, list) else []

    def behavior_task(self, uid: str) -> Record:
        """The state of a behaviour task. Raises `NotFound`."""
        return as_object(self.api.behavior_task(uid), f"behaviour task {uid}")

    def behavior_analysis(self, uid: str) -> Record:
        """What a behaviour task found: `summary`, `categoryScores`, `behaviorPatterns`. Raises `NotFound`."""
        return as_object(self.api.behavior_analysis(uid), f"the analysis {uid}")

    def cancel_behavior_task(self, uid: str) -> Record:
        """End a behaviour task that has not ended; its record. One that has ended stays as it is. Raises `NotFound`."""
        return as_object(self.api.behavior_task_cancel(uid), f"behaviour task {uid}")

    def _triggered(self, kind: Kind, wish: Wish, wait: float | None) -> Record:
        records, report = reports.trigger(kind, self._work(), wish, patience=_patience(wait))
        return _only(records, report, f"the {kind.word} of {wish.ids[0]}")


def _patience(wait: float | None) -> Patience | None:
    return None if wait is None else Patience(wait)


def _only(records: list[Any], report: Report, what: str) -> Record:
    for failure in report.failures:
        raise failure.error
    return as_object(records[0] if records else None, what)
