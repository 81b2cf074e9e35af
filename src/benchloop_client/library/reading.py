"""Calls that look: groups, jobs, tasks, metrics, trajectories and artifacts as records, one at a time where there may be many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchloop_client import paging
from benchloop_client.actions import artifact_lists, diff, documents, groups, metrics, overview
from benchloop_client.actions import trajectory as trajectories
from benchloop_client.actions.diff import Diff, Side
from benchloop_client.actions.shapes import as_object, must_exist
from benchloop_client.contract import trajectory as shape
from benchloop_client.contract.resources import DownloadTaskCreate
from benchloop_client.errors import IntegrityError
from benchloop_client.library.connected import Connected

Record = dict[str, Any]


class Reading(Connected):
    """Records are plain dictionaries with the server's own names; see docs/reference/records.md and summaries.md."""

    # ---- groups and statistics ----------------------------------------------------------------------------------------------------

    def groups(self) -> Iterator[Record]:
        """Every group of the workspace, newest first."""
        return groups.listed(self._work())

    def group(self, group_id: str) -> Record:
        """One group. Raises `NotFound`."""
        return as_object(self.api.group(group_id), f"group {group_id}")

    def overview(self, group_id: str, *, scope: str = "all") -> Record:
        """`{group_id, summary, tasks}`: statistics of a group; `scope` is summary, tasks or all."""
        return overview.of_group(self._work(), group_id, scope=scope)

    def job_overview(self, job_id: str) -> Record:
        """`{job_id, job, stats}`: a job, and the statistics of its group."""
        return overview.of_job(self._work(), job_id)

    def diff(self, a: str | Side, b: str | Side, *, significance: float = diff.SIGNIFICANCE, seed: int = 0) -> Diff:
        """Two groups (`"G1"`) or steps (`"G1@100"`, or `Side("G1", 100)`) compared task by task; see `bl diff --help`."""
        sides = [side if isinstance(side, Side) else Side.parse(side) for side in (a, b)]
        return diff.diff(self._work(), sides[0], sides[1], significance=significance, seed=seed)

    # ---- jobs and tasks -------------------------------------------------------------------------------------------------------------

    def jobs(self, group_id: str, **filters: Any) -> Iterator[Record]:
        """Every job of a group in the order of the server, page by page.

        Filters: template, status, instance_id; where the server has feature `filters` also outcome, task_id, model, agent, step,
        error_type, reward_valid and fail_reason, and a list for "one of these". Raises `NotFound` for an unknown group, `IntegrityError` if
        the list cannot be had completely.
        """
        return self._listed(group_id, paging.all_jobs(self.api, group_id, filters=self._filters(filters)))

    def job(self, job_id: str) -> Record:
        """One job. Raises `NotFound`."""
        return as_object(self.api.job(job_id), f"job {job_id}")

    def metadata(self, job_id: str) -> Record:
        """What the source said about a job beside the facts. Raises `NotFound`."""
        return as_object(self.api.job_meta(job_id), f"the metadata of {job_id}")

    def tasks(self, group_id: str, *, search: str | None = None, status: str | None = None) -> Iterator[Record]:
        """Every task of a group; `search`: only those whose id holds this text. Raises `NotFound` for an unknown group."""
        return self._listed(group_id, paging.all_tasks(self.api, group_id, page_size=1000, search=search, status=status))

    def metrics(self, group_id: str) -> Iterator[Record]:
        """The metrics of every job of a group. Raises `NotFound` for an unknown group."""
        return self._listed(group_id, paging.all_metrics(self.api, group_id))

    def group_metrics(self, group_id: str) -> Record:
        """`{group_id, run_metrics, tokenized_metrics}`: the metrics of a group as a whole."""
        return as_object(metrics.overall(self._work(), group_id), f"the metrics of {group_id}")

    def job_metrics(self, job_id: str) -> Record:
        """`{job_id, metrics, run_metrics, tokenized_metrics}` of a job."""
        return metrics.of_job(self._work(), job_id)

    # ---- trajectories -----------------------------------------------------------------------------------------------------------------

    def trajectory(self, job_id: str) -> Record:
        """The document of a job, in ATIF shape: `doc["steps"]`. Raises `NotFound`.

        A job whose trajectory was not recorded has no steps, and `doc["extra"]["benchloop"]["recorded"]` is false.
        """
        return _document(trajectories.document(self._work(), job_id))

    def trajectories(self, group_id: str, **filters: Any) -> Iterator[Record]:
        """The documents of a group one at a time, in the order of the job list; each as `trajectory` returns it.

        The next one arrives while you look at this one; memory holds a few of them, whatever the size of the group. Filters as in `jobs`.
        `doc["trajectory_id"]` is the job's id, `doc["extra"]["benchloop"]` has its group and task.
        """
        return map(_document, documents.documents(self._work(), group_id, filters=self._filters(filters)))

    # ---- artifacts --------------------------------------------------------------------------------------------------------------------

    def artifacts(self, job_id: str) -> list[Record]:
        """What the server lists for a job: name, size, sha256; one entry with `error_code` "no_artifact" where there is none."""
        return [dict(found.raw) for found in artifact_lists.of_job(self._work(), job_id)]

    def group_artifacts(self, group_id: str) -> Iterator[Record]:
        """The artifacts of every job of a group; jobs without one are left out. Raises `NotFound` for an unknown group."""
        return self._listed(group_id, paging.all_group_artifacts(self.api, group_id))

    def artifact_files(self, job_id: str) -> list[Record]:
        """The files inside a job's archive: path, size, sha256; empty without an archive."""
        return artifact_lists.members_of(self._work(), job_id)

    def artifact_file(self, job_id: str, path: str) -> bytes:
        """The bytes of one file out of a job's archive. Raises `NotFound`."""
        with self.api.job_artifact_member_stream(job_id, path) as stream:
            return stream.read()

    # ---- download tasks -----------------------------------------------------------------------------------------------------------------

    def create_download_task(self, group_id: str, **filters: Any) -> Record:
        """Freeze the jobs that match (filters as in `jobs`); the record has `task_id` and `job_ids`."""
        request = DownloadTaskCreate(group_id=group_id, **self._filters(filters))
        return as_object(self.api.download_task_create(request), "the new download task")

    def download_task(self, task_id: str) -> Record:
        """One download task. Raises `NotFound`."""
        return as_object(self.api.download_task(task_id), f"download task {task_id}")

    def _listed(self, group_id: str, listing: paging.Listing) -> Iterator[Record]:
        empty = True
        for row in listing:
            empty = False
            yield row
        if empty:
            must_exist(self.api, group_id)


def _document(raw: bytes) -> Record:
    try:
        value, _ = shape.load(raw)
    except (ValueError, shape.TooDeep) as error:
        raise IntegrityError(f"a trajectory cannot be read: {error}") from None
    return as_object(value, "a trajectory")
