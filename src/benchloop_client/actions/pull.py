"""Everything of groups or jobs, resource by resource, in the documented file layout. One resource failing does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from benchloop_client.actions import artifacts, job_metadata, jobs, lists, metrics, tasks, trajectory
from benchloop_client.actions.artifact_lists import Choice, known_jobs
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.events import Counter, Noted
from benchloop_client.actions.lists import Query
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.reports import REPORT, Saving
from benchloop_client.actions.rsi import RSI
from benchloop_client.actions.work import Work
from benchloop_client.errors import BenchloopError

#: What there is; a group's resources are fetched in the order of `_Pull.of_group`.
RESOURCES = ("metrics", "trajectory", "report", "artifacts", "tasks", "jobs", "metadata", "rsi")
_OF_GROUPS = ("tasks", "jobs")
#: What a selection of jobs does not narrow.
_WHOLE = frozenset({"metrics", "tasks", "jobs"})
_WHAT = "pull step(s)"
_ALL = Query(page_size=1000, everything=True)
_Step = tuple[str, Callable[[], "Report | None"]]


def pull_groups(
    work: Work, groups: Sequence[str], destination: Destination, *, resources: Iterable[str], placeholder: bool = True
) -> Report:
    """Fetch the named resources of each group, one group after another. Without `placeholder` a missing archive is a failure."""
    pull = _Pull(work, destination, frozenset(resources), Choice(placeholder=placeholder))
    if work.selection and pull.wanted & _WHOLE:
        work.watch(Noted(f"{', '.join(sorted(pull.wanted & _WHOLE))}: of the whole group, whatever jobs are selected"))
    counter = Counter(work.watch, "pull", "groups", len(groups), quiet=True)
    reports: list[Report] = []
    for group_id in groups:
        reports.append(_steps(work, group_id, pull.of_group(group_id)))
        counter.step("pulled", group_id)
    pull.tell()
    return Report.of_all(reports, what=_WHAT)


def pull_jobs(work: Work, jobs: Sequence[str], destination: Destination, *, resources: Iterable[str], placeholder: bool = True) -> Report:
    """Fetch the named resources of each job, jobs side by side; the lists of groups have no meaning here, which is said."""
    pull = _Pull(work, destination, frozenset(resources), Choice(placeholder=placeholder))
    useless = [name for name in _OF_GROUPS if name in pull.wanted]
    if useless:
        work.watch(Noted(f"{' and '.join(useless)}: a list of a group; with -j there is nothing to fetch for it"))
    counter = Counter(work.watch, "pull", "jobs", len(jobs), quiet=True)
    reports: list[Report] = []
    for result in work.results(jobs, lambda job_id: _steps(work, job_id, pull.of_job(job_id)), ordered=True):
        failed = isinstance(result.error, BenchloopError)
        reports.append(Report(0, (Failure(result.item, result.error),)) if failed else result.value)  # type: ignore[arg-type]
        counter.step("pulled", result.item)
    pull.tell()
    return Report.of_all(reports, what=_WHAT)


class _Pull:
    """What is wanted, and the steps that it takes."""

    def __init__(self, work: Work, destination: Destination, wanted: frozenset[str], choice: Choice) -> None:
        self.wanted = wanted
        self._work, self._destination, self._choice = work, destination, choice
        self._reports, self._rsi = Saving(REPORT, work, destination), Saving(RSI, work, destination)

    def of_group(self, group_id: str) -> Iterator[_Step]:
        """The steps of a group, in order."""
        work, target = self._work, self._destination
        known = _Jobs(work, group_id)
        if "metrics" in self.wanted:
            yield "metrics:overall", _silent(lambda: metrics.save_overall(work, group_id, target))
            yield "metrics:detail", _silent(lambda: metrics.save_detail(work, group_id, target))
        if "trajectory" in self.wanted:
            yield "trajectory", _silent(lambda: trajectory.save_group(work, group_id, target))
        if "report" in self.wanted:
            yield "report", lambda: self._reports.group(group_id, jobs=known)
        if "rsi" in self.wanted:
            yield "rsi", lambda: self._rsi.group(group_id, jobs=known)
        if "tasks" in self.wanted:
            yield "tasks", _silent(lambda: lists.save(tasks.TASKS, work, group_id, target, query=_ALL))
        if "jobs" in self.wanted:
            yield "jobs", _silent(lambda: lists.save(jobs.JOBS, work, group_id, target, query=_ALL))
        if "metadata" in self.wanted:
            yield "metadata", lambda: job_metadata.save_group(work, group_id, target, jobs=known)
        if "artifacts" in self.wanted:
            yield "artifacts", lambda: artifacts.download_group(work, group_id, target, choice=self._choice, jobs=known)

    def of_job(self, job_id: str) -> Iterator[_Step]:
        """The steps of a job, in order."""
        work, target = self._work, self._destination
        if "metrics" in self.wanted:
            yield "metrics", _silent(lambda: metrics.save_job(work, job_id, target))
        if "trajectory" in self.wanted:
            yield "trajectory", _silent(lambda: trajectory.save_job(work, job_id, target))
        if "report" in self.wanted:
            yield "report", _silent(lambda: self._reports.job(job_id))
        if "rsi" in self.wanted:
            yield "rsi", _silent(lambda: self._rsi.job(job_id))
        if "metadata" in self.wanted:
            yield "metadata", _silent(lambda: job_metadata.save_job(work, job_id, target))
        if "artifacts" in self.wanted:
            yield "artifacts", lambda: Report(1, tuple(artifacts.download_job(work, job_id, target, choice=self._choice)))

    def tell(self) -> None:
        """Say how much has no report."""
        self._reports.lacking.tell(self._work)
        self._rsi.lacking.tell(self._work)


@dataclass
class _Jobs:
    """The ids of a group's jobs, asked for at most once, and only if they are needed."""

    work: Work
    group_id: str
    _found: list[str] | None = None

    def __call__(self) -> list[str]:
        if self._found is None:
            self._found = known_jobs(self.work, self.group_id)
        return self._found


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
