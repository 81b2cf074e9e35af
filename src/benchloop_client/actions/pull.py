"""Everything of groups or jobs, resource by resource, in the documented file layout. One resource failing does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from benchloop_client.actions import artifacts, jobs, lists, metrics, tasks, trajectory
from benchloop_client.actions.artifact_lists import Choice
from benchloop_client.actions.destination import Content, Destination, beside, in_group
from benchloop_client.actions.events import Noted, Wrote
from benchloop_client.actions.lists import Query
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.shapes import must_exist
from benchloop_client.actions.work import Work, placed
from benchloop_client.errors import BenchloopError, NotFound

_WHAT = "pull step(s)"
_ALL = Query(page_size=1000, everything=True)
_Step = tuple[str, Callable[[], "Report | None"]]


def pull_groups(work: Work, groups: Sequence[str], destination: Destination, *, resources: Iterable[str]) -> Report:
    """Fetch the named resources of each group: metrics, trajectory, report, tasks, jobs, artifacts, in this order."""
    wanted = frozenset(resources)
    return Report.of_all([_steps(work, group_id, _group_steps(work, group_id, destination, wanted)) for group_id in groups], what=_WHAT)


def pull_jobs(work: Work, jobs: Sequence[str], destination: Destination, *, resources: Iterable[str]) -> Report:
    """Fetch metrics, trajectory, report and artifacts of each job, jobs side by side; tasks and jobs have no meaning here."""
    wanted = frozenset(resources)
    if wanted & {"tasks", "jobs"}:
        work.watch(Noted("tasks and jobs are lists of a group; with -j there is nothing to fetch for them"))
    reports: list[Report] = []
    for result in work.results(jobs, lambda job_id: _steps(work, job_id, _job_steps(work, job_id, destination, wanted)), ordered=True):
        failed = isinstance(result.error, BenchloopError)
        reports.append(Report(0, (Failure(result.item, result.error),)) if failed else result.value)  # type: ignore[arg-type]
    return Report.of_all(reports, what=_WHAT)


def _group_steps(work: Work, group_id: str, destination: Destination, wanted: frozenset[str]) -> Iterator[_Step]:
    if "metrics" in wanted:
        yield "metrics:overall", _silent(lambda: metrics.save_overall(work, group_id, destination))
        yield "metrics:detail", _silent(lambda: metrics.save_detail(work, group_id, destination))
    if "trajectory" in wanted:
        yield "trajectory", _silent(lambda: trajectory.save_group(work, group_id, destination))
    if "report" in wanted:
        yield "report", lambda: _group_reports(work, group_id, destination)
    if "tasks" in wanted:
        yield "tasks", _silent(lambda: lists.save(tasks.TASKS, work, group_id, destination, query=_ALL))
    if "jobs" in wanted:
        yield "jobs", _silent(lambda: lists.save(jobs.JOBS, work, group_id, destination, query=_ALL))
    if "artifacts" in wanted:
        yield "artifacts", lambda: artifacts.download_group(work, group_id, destination, choice=Choice(), quiet=True)


def _job_steps(work: Work, job_id: str, destination: Destination, wanted: frozenset[str]) -> Iterator[_Step]:
    if "metrics" in wanted:
        yield "metrics", _silent(lambda: metrics.save_job(work, job_id, destination))
    if "trajectory" in wanted:
        yield "trajectory", _silent(lambda: trajectory.save_job(work, job_id, destination))
    if "report" in wanted:
        yield "report", _silent(lambda: _job_report(work, job_id, destination))
    if "artifacts" in wanted:
        yield "artifacts", lambda: Report(1, tuple(artifacts.download_job(work, job_id, destination, choice=Choice())))


def _steps(work: Work, item: str, steps: Iterable[_Step]) -> Report:
    """Run the steps in order; what a step raises, and what it reports, gets the item's id in front."""
    reports: list[Report] = []

    def run(step: _Step) -> None:
        name, action = step
        reports.append(_below(item, name, action()))

    for step in steps:
        raised = work.in_turn([step], run, label=lambda current: f"{item}:{current[0]}")
        reports.append(Report(0, raised.failures))
    return Report.of_all(reports)


def _below(item: str, name: str, report: Report | None) -> Report:
    """A step's own report, its labels as `<item>:<resource>`, `<item>:<job>:<resource>` or `<item>:<job>:<file>`."""
    if report is None:
        return Report(1)
    return Report(report.done, tuple(replace(failure, label=_label(item, name, failure.label)) for failure in report.failures))


def _label(item: str, name: str, label: str) -> str:
    if label == item:
        return f"{item}:{name}"
    if label.startswith(f"{item}:"):
        return label
    return f"{item}:{label}" if ":" in label else f"{item}:{label}:{name}"


def _silent(step: Callable[[], object]) -> Callable[[], Report | None]:
    """A step whose only report is what it raises."""

    def run() -> None:
        step()

    return run


def _group_reports(work: Work, group_id: str, destination: Destination) -> Report:
    """Write `<group>_report.md`, and `<group>/<job>_report.md` of each job that has a report."""
    found = _answer(lambda: work.client.group_report(group_id))
    if found is None:
        must_exist(work.client, group_id)
        if work.client.server_version() is not None:
            work.watch(Noted(f"no report for {group_id}"))
            return Report(1)
    _save_report(work, beside(group_id, "_report.md"), f"report {group_id}", found, destination)

    def one(job_id: str) -> None:
        answer = _answer(lambda: work.client.job_report(job_id))
        _save_report(work, in_group(group_id, f"{job_id}_report.md"), f"report {group_id} {job_id}", answer, destination)

    return work.run(trajectory.job_ids(work, group_id), one)


def _job_report(work: Work, job_id: str, destination: Destination) -> None:
    answer = _answer(lambda: work.client.job_report(job_id))
    if not _save_report(work, beside(job_id, "_report.md"), f"report {job_id}", answer, destination):
        work.watch(Noted(f"no report for {job_id}"))


def _answer(ask: Callable[[], Any]) -> Any:
    """The answer, None where there is no report or the server makes none."""
    try:
        return ask()
    except NotFound:
        return None


def _save_report(work: Work, path: str, source: str, answer: Any, destination: Destination) -> bool:
    """Write the first report's Markdown; false if there is none."""
    reports = answer.get("reports") if isinstance(answer, dict) else None
    if not isinstance(reports, list) or not reports or not isinstance(reports[0], dict):
        return False
    text = reports[0].get("content") or ""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else b""
    placed(work, destination.save(path, source, lambda _etag: Content((data,))), Wrote)
    return True
