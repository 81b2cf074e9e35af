"""A server of the documented protocol on top of a scripted one: groups of jobs whose data, and whose habits, a test chooses."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.scripted import Answer, Scripted, Seen, binary, error, of_json


@dataclass
class Documented:
    """Routes E1 to E15, E17, E18, E21, E22, E25, E26, E28 and E29 for a few groups; change the fields at any time.

    `cap` is the most rows a page has, whatever was asked for; `totals` off leaves `total` out of lists. `trajectories` and `archives`
    override the answer for single jobs. `reports` and `weaknesses` have the Markdown of jobs and groups by id; others have none. `version`
    stays 404: the server is an old one.
    """

    server: Scripted
    groups: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    trajectories: dict[str, Answer] = field(default_factory=dict)
    archives: dict[str, Answer] = field(default_factory=dict)
    reports: dict[str, str] = field(default_factory=dict)
    weaknesses: dict[str, str] = field(default_factory=dict)
    cap: int = 1000
    totals: bool = True

    def __post_init__(self) -> None:
        for route, handler in (
            ("/openapi/jobs", self._jobs),
            ("/openapi/metrics", self._metrics),
            ("/openapi/metrics/{job}", self._job_metrics),
            ("/openapi/groups/{group}", self._group),
            ("/openapi/groups/{group}/metrics/overall", self._overall),
            ("/openapi/groups/{group}/eval_tasks", self._tasks),
            ("/openapi/groups/{group}/eval_summary", self._group),
            ("/openapi/groups/{group}/trajectory", self._group_trajectory),
            ("/openapi/groups/{group}/job-ids", self._job_ids),
            ("/openapi/groups/{group}/trace-trajectory/download", self._export),
            ("/openapi/export/{group}", self._export_file),
            ("/openapi/jobs/{job}", self._job),
            ("/openapi/jobs/stats", lambda seen: of_json({"group_id": seen.query.get("group_id"), "jobs": 1})),
            ("/openapi/jobs/{job}/trajectory", self._trajectory),
            ("/openapi/jobs/{job}/meta", self._job),
            ("/openapi/jobs/{id}/report", self._report),
            ("/openapi/groups/{id}/report", self._report),
            ("/openapi/jobs/{job}/rsi", self._job_rsi),
            ("/openapi/groups/{group}/rsi", self._group_rsi),
            ("/openapi/jobs/{job}/artifacts", self._artifacts),
            ("/openapi/jobs/{job}/artifacts/download", self._archive),
            ("/openapi/trajectory-download-tasks/{task}", self._task),
        ):
            self.server.on(f"GET {route}", handler)

    def fill(self, group: str, jobs: Iterable[str], created_at: str | None = None) -> None:
        """A group of jobs; with `created_at` all of them have that one time, else each its own."""
        self.groups[group] = [
            {
                "job_id": job,
                "group_id": group,
                "task_id": f"task-{job}",
                "created_at": created_at or f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z",
            }
            for n, job in enumerate(jobs)
        ]

    def trajectory_of(self, job: str) -> Answer:
        """The job's E10 answer."""
        return self.trajectories.get(job) or of_json(document(job))

    def _known(self, job: str) -> bool:
        return any(row["job_id"] == job for rows in self.groups.values() for row in rows)

    def _page(self, rows: Sequence[Any], seen: Seen, name: str, **more: Any) -> Answer:
        skip, limit = int(seen.query.get("skip", 0)), min(int(seen.query.get("limit", 50)), self.cap)
        total = {"total": len(rows)} if self.totals else {}
        return of_json({name: list(rows[skip : skip + limit]), **total, **more})

    def _jobs(self, seen: Seen) -> Answer:
        return self._page(self.groups.get(seen.query.get("group_id", ""), []), seen, "jobs")

    def _metrics(self, seen: Seen) -> Answer:
        rows = self.groups.get(seen.query.get("group_id", ""), [])
        return self._page([{"job_id": row["job_id"], "metrics": {"reward": 1}} for row in rows], seen, "metrics", tokenized_metrics=None)

    def _tasks(self, seen: Seen) -> Answer:
        rows = self.groups.get(seen.path_ids["group"])
        if rows is None:
            return error(404, f"no group {seen.path_ids['group']}")
        return self._page([{"task_id": row["task_id"], "jobs": 1} for row in rows], seen, "tasks")

    def _job_metrics(self, seen: Seen) -> Answer:
        job = seen.path_ids["job"]
        if not self._known(job):
            return error(404, f"no job {job}")
        return of_json({"job_id": job, "metrics": {"reward": 1}, "run_metrics": {"num_turns": 2}, "tokenized_metrics": None})

    def _group(self, seen: Seen) -> Answer:
        group = seen.path_ids["group"]
        return of_json({"group_id": group, "name": group}) if group in self.groups else error(404, f"no group {group}")

    def _overall(self, seen: Seen) -> Answer:
        group = seen.path_ids["group"]
        if group not in self.groups:
            return error(404, f"no group {group}")
        return of_json({"group_id": group, "run_metrics": {"job_count": len(self.groups[group])}, "tokenized_metrics": None})

    def _group_trajectory(self, seen: Seen) -> Answer:
        group = seen.path_ids["group"]
        if group not in self.groups:
            return error(404, f"no group {group}")
        return of_json({"group_id": group, "trajectories": [document(row["job_id"]) for row in self.groups[group]]})

    def _job_ids(self, seen: Seen) -> Answer:
        return of_json({"job_ids": [row["job_id"] for row in self.groups.get(seen.path_ids["group"], [])]})

    def _export(self, seen: Seen) -> Answer:
        group = seen.path_ids["group"]
        if group not in self.groups:
            return error(404, f"no group {group}")
        return of_json({"status": "succeeded", "download_url": f"/openapi/export/{group}"})

    def _export_file(self, seen: Seen) -> Answer:
        return binary(self.export_of(seen.path_ids["group"]), "application/x-ndjson")

    def export_of(self, group: str) -> bytes:
        """The group's E14 body: a line a job."""
        return b"".join(
            b'{"job_id":"%b",%b\n' % (row["job_id"].encode(), of_json(document(row["job_id"])).body[1:]) for row in self.groups[group]
        )

    def _job(self, seen: Seen) -> Answer:
        job = seen.path_ids["job"]
        return of_json({"job_id": job, "status": "completed"}) if self._known(job) else error(404, f"no job {job}")

    def _trajectory(self, seen: Seen) -> Answer:
        job = seen.path_ids["job"]
        return self.trajectory_of(job) if self._known(job) else error(404, f"no job {job}")

    def _report(self, seen: Seen) -> Answer:
        name = seen.path_ids["id"]
        if not self._known(name) and name not in self.groups:
            return error(404, f"nothing is called {name}")
        return of_json({"reports": [{"content": self.reports[name]}] if name in self.reports else []})

    def _job_rsi(self, seen: Seen) -> Answer:
        job = seen.path_ids["job"]
        found = {"report_md": self.weaknesses[job]} if job in self.weaknesses else None
        return of_json({"report": found}) if self._known(job) else error(404, f"no job {job}")

    def _group_rsi(self, seen: Seen) -> Answer:
        group = seen.path_ids["group"]
        found = {"summary_md": self.weaknesses[group]} if group in self.weaknesses else None
        return of_json({"report": found}) if group in self.groups else error(404, f"no group {group}")

    def _artifacts(self, seen: Seen) -> Answer:
        job = seen.path_ids["job"]
        if not self._known(job):
            return error(404, f"no job {job}")
        return of_json({"artifacts": [{"name": f"{job}.tgz", "url": f"/openapi/jobs/{job}/artifacts/download"}]})

    def _archive(self, seen: Seen) -> Answer:
        job = seen.path_ids["job"]
        return self.archives.get(job) or (binary(tgz({"job.txt": job.encode()})) if self._known(job) else error(404, f"no job {job}"))

    def _task(self, seen: Seen) -> Answer:
        task = seen.path_ids["task"]
        jobs = [row["job_id"] for row in self.groups.get(task, [])]
        found = {"task_id": task, "group_id": task, "created_at": "2026-01-01T00:00:00Z", "job_ids": jobs}
        return of_json(found) if jobs else error(404, f"no task {task}")


def document(job: str, text: str = "hello") -> dict[str, Any]:
    """A small trajectory in the normal form."""
    return {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": job,
        "session_id": job,
        "agent": {"name": "agent", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": text}, {"step_id": 2, "source": "agent", "message": f"done {job}"}],
    }


def tgz(files: dict[str, bytes]) -> bytes:
    """A gzip'd tar of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)
