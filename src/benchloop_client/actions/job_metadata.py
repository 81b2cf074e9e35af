"""What jobs know about themselves: as text, or a file each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchloop_client.actions.bulk import Origin, offered
from benchloop_client.actions.bulk_files import Fetched, Shape, Stock, fetch
from benchloop_client.actions.choosing import choose
from benchloop_client.actions.destination import Destination, beside, in_group
from benchloop_client.actions.events import Counter, Wrote
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Counted, Work, placed
from benchloop_client.contract.ids import file_name
from benchloop_client.errors import ApiError

_SUFFIX = "_metadata.json"


def element(work: Work, job_id: str, *, layout: Layout) -> Iterator[bytes]:
    """The metadata of one job as text."""
    yield layout.value(work.client.job_meta(job_id))


def save_job(work: Work, job_id: str, destination: Destination) -> None:
    """Write `<job>_metadata.json`."""
    save_to(work, job_id, destination, path=beside(job_id, _SUFFIX))


def save_group(work: Work, group_id: str, destination: Destination, *, jobs: Callable[[], Sequence[str]]) -> Report:
    """Write `<group>/<job>_metadata.json` of each of the group's `jobs`, from one stream where the server has that."""
    found: list[str] = []
    listed = work.in_turn([group_id], lambda _group: found.extend(jobs()))
    if not listed.ok:
        return listed
    count = Counted(Counter(work.watch, f"group metadata jobs {group_id}", "jobs", len(found), quiet=True), "processed")
    if offered(work) and not destination.rehearsing and (not work.selection or choose(work, group_id).mostly):
        return _in_bulk(work, group_id, found, destination, count)
    return _one_by_one(work, group_id, found, destination, count)


def _one_by_one(work: Work, group_id: str, jobs: Sequence[str], destination: Destination, count: Counted) -> Report:
    return work.run(jobs, lambda job_id: save_to(work, job_id, destination, path=in_group(group_id, f"{job_id}{_SUFFIX}")), count=count)


def _in_bulk(work: Work, group_id: str, jobs: Sequence[str], destination: Destination, count: Counted) -> Report:
    shape = Shape(
        (file_name(group_id),),
        lambda header: (file_name(f"{header.job_id}{_SUFFIX}"),),
        lambda header: destination.laid_out(f"metadata {header.job_id}"),
        lambda header: header.job_id,
        Wrote,
        lambda header, data: destination.layout.text(data) + b"\n",
    )
    only = frozenset(jobs).__contains__ if work.selection else None
    stock = Stock(Origin("metadata", f"metadata of {group_id}", group=group_id), shape, only)
    got: list[Fetched] = []
    report = work.in_turn([group_id], lambda _group: got.append(fetch(work, stock, destination, count=count)))
    if not report.ok:
        return report
    done = Report(got[-1].done, tuple(got[-1].failures))
    return Report.of_all([done, _one_by_one(work, group_id, got[-1].left, destination, count)]) if got[-1].left else done


def save_to(work: Work, job_id: str, destination: Destination, *, path: str) -> None:
    """Write the metadata of one job to `path`."""

    def text() -> Iterator[bytes]:
        answer = work.client.job_meta(job_id)
        if answer is None:
            raise ApiError(200, f"the server's answer for the metadata of {job_id} is null; nothing was written")
        yield destination.layout.value(answer)

    placed(work, destination.save_json(path, f"metadata {job_id}", text), Wrote)
