"""What jobs know about themselves: as text, or a file each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchloop_client.actions.destination import Destination, beside, in_group
from benchloop_client.actions.events import Counter, Wrote
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Counted, Work, placed
from benchloop_client.errors import ApiError

_SUFFIX = "_metadata.json"


def element(work: Work, job_id: str, *, layout: Layout) -> Iterator[bytes]:
    """The metadata of one job as text."""
    yield layout.value(work.client.job_meta(job_id))


def save_job(work: Work, job_id: str, destination: Destination) -> None:
    """Write `<job>_metadata.json`."""
    _save(work, job_id, destination, path=beside(job_id, _SUFFIX))


def save_group(work: Work, group_id: str, destination: Destination, *, jobs: Callable[[], Sequence[str]]) -> Report:
    """Write `<group>/<job>_metadata.json` of each of the group's `jobs`."""
    found: list[str] = []
    listed = work.in_turn([group_id], lambda _group: found.extend(jobs()))
    if not listed.ok:
        return listed
    count = Counted(Counter(work.watch, f"group metadata jobs {group_id}", "jobs", len(found), quiet=True), "processed")
    return work.run(found, lambda job_id: _save(work, job_id, destination, path=in_group(group_id, f"{job_id}{_SUFFIX}")), count=count)


def _save(work: Work, job_id: str, destination: Destination, *, path: str) -> None:
    def text() -> Iterator[bytes]:
        answer = work.client.job_meta(job_id)
        if answer is None:
            raise ApiError(200, f"the server's answer for the metadata of {job_id} is null; nothing was written")
        yield destination.layout.value(answer)

    placed(work, destination.save_json(path, f"metadata {job_id}", text), Wrote)
