"""The artifacts of a group or a download task from one stream, where that is the cheaper way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from benchloop_client.actions.artifact_lists import Choice
from benchloop_client.actions.bulk import Origin, offered
from benchloop_client.actions.bulk_files import Shape, Stock, fetch
from benchloop_client.actions.choosing import choose
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.events import Downloaded, Noted
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Counted, Work
from benchloop_client.contract.bulk import BulkItem
from benchloop_client.contract.ids import encoded, file_name

#: The artifacts of these jobs, each by itself.
Each = Callable[[Iterable[str], Counted], Report]


def group(
    work: Work, group_id: str, destination: Destination, *, choice: Choice, count: Callable[[int], Counted], each: Each
) -> Report | None:
    """Write `<group>/<job>/<name>` of each job; None, with nothing done, where job by job is the way."""
    if not _whole(work, destination, choice):
        return None
    chosen = choose(work, group_id) if work.selection else None
    if chosen is not None and not chosen.mostly:
        return None
    total = len(chosen.jobs) if chosen is not None else present(work, group_id)
    counted = count(total)
    shape = Shape((file_name(group_id),), _job_and_name, _source_of, _label_of, Downloaded)
    origin = Origin("artifacts", f"artifacts of {group_id}", group=group_id)
    got = fetch(work, Stock(origin, shape, _among(chosen.jobs) if chosen is not None else None), destination, count=counted)
    if got.absent:
        work.watch(Noted(f"{got.absent} of {total} job(s) in {group_id} have no artifact"))
    report = Report(got.done, tuple(got.failures))
    return Report.of_all([report, each(got.left, counted)]) if got.left else report


def task(
    work: Work, task_id: str, jobs: Sequence[str], destination: Destination, *, choice: Choice, counted: Counted, each: Each
) -> Report | None:
    """Write `<task>/<enc job>.tgz` of each job; what has none is asked for by itself, for the documented placeholder."""
    if not _whole(work, destination, choice):
        return None
    only = _among(jobs) if work.selection else None
    shape = Shape((file_name(task_id),), _name_in_task, _source_in_task, _job_of, Downloaded, leave_absent=True)
    got = fetch(work, Stock(Origin("artifacts", f"artifacts of {task_id}", task=task_id), shape, only), destination, count=counted)
    report = Report(got.done, tuple(got.failures))
    return Report.of_all([report, each(got.left, counted)]) if got.left else report


def present(work: Work, group_id: str) -> int:
    """How many jobs a group of our server has."""
    answer = work.client.group(group_id)
    return int(answer.get("present") or 0) if isinstance(answer, dict) else 0


def _whole(work: Work, destination: Destination, choice: Choice) -> bool:
    """Whether everything is wanted, and can come in one stream."""
    every = choice.include is None and choice.exclude is None and choice.member is None
    return every and not destination.rehearsing and offered(work)


def _among(jobs: Iterable[str]) -> Callable[[str], bool]:
    return frozenset(jobs).__contains__


def _job_and_name(header: BulkItem) -> tuple[str, ...]:
    return file_name(header.job_id), file_name(header.name or f"{header.job_id}.tgz")


def _source_of(header: BulkItem) -> str:
    return f"artifact {header.job_id} {header.name}"


def _label_of(header: BulkItem) -> str:
    return f"{header.job_id}:{header.name}"


def _name_in_task(header: BulkItem) -> tuple[str, ...]:
    return (f"{encoded(header.job_id)}.tgz",)


def _source_in_task(header: BulkItem) -> str:
    return f"artifact {header.job_id} {encoded(header.job_id)}.tgz"


def _job_of(header: BulkItem) -> str:
    return header.job_id
