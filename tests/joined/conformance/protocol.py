"""A scripted server of every documented call, in each of the shapes that the contract leaves open to a server."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.support.documented import document, tgz
from tests.support.scripted import Answer, Scripted, Seen, error

GROUP, PLAIN, EMPTY, TASK, MEDIA_TASK, UID = "G1", "P1", "E0", "T1", "T2", "brm-1"
JOBS, PLAIN_JOBS = ("J1", "J2", "J3", "J4", "J5"), ("Q1", "Q2")
#: A job of the plain group that has no archive; the other one has media.
LONE = "Q2"
MEDIA_URI = "oss://bucket/shots/a.png"
PNG = b"\x89PNG\r\n\x1a\n-pixels"
REPORT = "# Report\n\nünï"


@dataclass(frozen=True)
class Shape:
    """How a server writes what the contract leaves open. `piece` and `pause`: bytes at a time and the seconds between."""

    name: str
    camel: bool = False
    alias: bool = False
    bare: bool = False
    totals: bool = True
    cap: int = 1000
    strings: bool = False
    nulls: bool = False
    piece: int = 0
    pause: float = 0.0
    chunked: bool = False
    length: int | None = None
    packed: bool = False
    typeless: bool = False


#: Every alternative that a client has to live with; each test of a shape on stdout or on the disk runs on all of them.
SHAPES = (
    Shape("snake"),
    Shape("camel", camel=True),
    Shape("other names", alias=True),
    Shape("bare lists", bare=True),
    Shape("no totals", totals=False),
    Shape("capped pages", cap=2),
    Shape("numbers as strings", strings=True),
    Shape("nulls", nulls=True),
    Shape("slow bodies", piece=300, pause=0.002),
    Shape("chunked", chunked=True, piece=61),
    Shape("no length", length=-1),
    Shape("gzip", packed=True),
    Shape("no type", typeless=True),
)


class Protocol:
    """Answers for groups G1 (with steps), P1 (without) and E0 (empty). `answers` has the value of a call before it is put in shape."""

    def __init__(self, server: Scripted, shape: Shape) -> None:
        self.server, self.shape = server, shape
        self.groups: dict[str, tuple[str, ...]] = {GROUP: JOBS, PLAIN: PLAIN_JOBS, EMPTY: ()}
        for route, handler in self._routes().items():
            server.on(route, self._shaped(handler))

    def shaped(self, answer: Answer, *, file: bool = False) -> Answer:
        """An answer as a server of this shape puts it on the wire; a file is never packed."""
        shape = self.shape
        headers = {name: value for name, value in answer.headers.items() if not (shape.typeless and name == "Content-Type")}
        body = answer.body
        if shape.packed and not file:
            body, headers = gzip.compress(body, mtime=0), {**headers, "Content-Encoding": "gzip"}
        return replace(answer, body=body, headers=headers, piece=shape.piece, pause=shape.pause, chunked=shape.chunked, length=shape.length)

    def json(self, value: Any) -> Answer:
        """A value as this server writes it."""
        value = _stringed(value) if self.shape.strings else value
        text = json.dumps(value, ensure_ascii=False).encode()
        return self.shaped(Answer(200, text, {"Content-Type": "application/json"}))

    def _shaped(self, handler: Callable[[Seen], Any]) -> Callable[[Seen], Answer]:
        def answer(seen: Seen) -> Answer:
            found = handler(seen)
            return found if isinstance(found, Answer) else self.json(found)

        return answer

    def _routes(self) -> dict[str, Callable[[Seen], Any]]:
        group, job = "/openapi/groups/{group}", "/openapi/jobs/{job}"
        return {
            "GET /openapi/metrics/{job}": self._of_job(self.job_metrics),
            "GET /openapi/metrics": lambda seen: self._page(
                seen, "metrics", [self.row_metrics(j) for j in self._listed(seen)], tokens=True
            ),
            f"GET {group}/metrics/overall": self._of_group(self.overall),
            f"GET {group}": self._of_group(lambda name: {"group_id": name, "name": name, "cluster": "c1"}),
            f"GET {group}/eval_summary": self._of_group(self.summary),
            f"GET {group}/eval_tasks": self._tasks,
            "GET /openapi/jobs": lambda seen: self._page(seen, "jobs", [self.row(job) for job in self._listed(seen)]),
            f"GET {job}": self._of_job(self.job),
            "GET /openapi/jobs/stats": lambda seen: {"group_id": seen.query.get("group_id"), "jobs": 5, "by_status": {"passed": 5}},
            f"GET {job}/trajectory": self._of_job(self.trajectory),
            f"GET {group}/trajectory": self._of_group(lambda name: {"group_id": name, "trajectories": []}),
            f"GET {job}/report": self._of_job(self.report),
            f"GET {group}/report": self._of_group(self.report),
            f"GET {job}/rsi": self._of_job(lambda name: {"job_id": name, "report": {"report_md": REPORT}}),
            f"GET {group}/rsi": self._of_group(lambda name: {"group_id": name, "report": {"summary_md": REPORT}}),
            f"POST {job}/report/trigger": self._of_job(lambda name: {"triggered": name}),
            f"POST {group}/report/trigger": self._of_group(lambda name: {"triggered": name}),
            f"POST {job}/rsi/trigger": self._of_job(lambda name: {"triggered": name}),
            f"POST {group}/rsi/trigger": self._of_group(lambda name: {"triggered": name}),
            f"GET {job}/artifacts": self._of_job(self.artifacts),
            f"GET {job}/artifacts/download": self._of_job(self.archive),
            "GET /openapi/trajectory-download-tasks/{task}": self._task,
            f"GET {job}/meta": self._of_job(lambda name: {"job_id": name, "trial": f"trial-{name}"}),
            "GET /openapi/getTrajV2/mediaFile": lambda _seen: self.shaped(Answer(200, PNG, {"Content-Type": "image/png"}), file=True),
            "GET /openapi/behavior/steps": self.steps,
            "POST /openapi/behavior/tasks": lambda seen: {"uid": UID, "status": "queued", "steps": json.loads(seen.body)["steps"]},
            "GET /openapi/behavior/tasks": self.behaviour_tasks,
            "GET /openapi/behavior/tasks/{uid}": lambda seen: {"uid": seen.path_ids["uid"], "task_id": "server's", "status": "queued"},
            "GET /openapi/behavior/tasks/{uid}/analysis": self.analysis,
        }

    # ---- what the calls answer ------------------------------------------------------------------------------------------------------

    def row(self, job: str) -> dict[str, Any]:
        """A row of E7."""
        place = (JOBS + PLAIN_JOBS).index(job)
        return {
            "id" if self.shape.alias else "job_id": job,
            "task_id": f"task-{place // 2}",
            "status": "completed",
            "created_at": None if self.shape.nulls else 1_700_000_000 + place,
        }

    def row_metrics(self, job: str) -> dict[str, Any]:
        """A row of E2."""
        return {"job_id": job, "metrics": {"reward": 1.5}, "run_metrics": None, "own": [1]}

    def job(self, job: str) -> dict[str, Any]:
        """E8."""
        group = next(name for name, jobs in self.groups.items() if job in jobs)
        return {"job_id": job, "status": "completed", **({} if self.shape.nulls else {"group_id": group})}

    def job_metrics(self, job: str) -> dict[str, Any]:
        """E1."""
        if self.shape.nulls:
            return {"metrics": {"reward": None}}
        return {"job_id": job, "metrics": {"reward": 1, "note": "ü"}, "run_metrics": {"num_turns": 2}, "tokenized_metrics": None, "own": 1}

    def overall(self, group: str) -> dict[str, Any]:
        """E3; the names come in another order than the documented one."""
        if self.shape.nulls:
            return {"run_metrics": None}
        tokens: Any = {"max_llm_calls": 9, "tokenized_job_count": 5, "own_tokens": 4}
        return {
            "group_id": group,
            "run_metrics": {"avg_num_turns": 2.5, "own_metric": 7, "job_count": 5},
            "tokenized_metrics": [tokens, {"total_llm_calls": 12}] if self.shape.bare else tokens,
        }

    def summary(self, group: str) -> Any:
        """E5, which is passed through as it is."""
        return [{"passed": 3}] if self.shape.bare else {"group_id": group, "passed": 3}

    def trajectory(self, job: str) -> dict[str, Any]:
        """E10."""
        found = document(job, "héllo")
        if job == PLAIN_JOBS[0]:
            found["steps"][1]["extra"] = {"media": [{"trace_media": {"oss_uri": MEDIA_URI, "mime_type": "image/png"}}]}
        return found

    def report(self, name: str) -> dict[str, Any]:
        """E17 and E18."""
        return {"id": name, "reports": [{"content": None if self.shape.nulls else REPORT}, {"content": "an older one"}]}

    def artifacts(self, job: str) -> dict[str, Any]:
        """E25."""
        name = "artifact" if self.shape.alias else "name"
        if job == LONE:
            return {"artifacts": [{name: "", "url": None if self.shape.nulls else "", "error_code": "no_artifact"}]}
        return {"artifacts": [{name: f"{job}.tgz", "url": f"/openapi/jobs/{job}/artifacts/download", "own": 1, "job_id": "server's"}]}

    def archive(self, job: str) -> Answer:
        """E26."""
        if job == LONE:
            return error(404, f"no artifact of {job}")
        return self.shaped(Answer(200, archive_of(job), {"Content-Type": "application/gzip"}), file=True)

    def steps(self, seen: Seen) -> dict[str, Any]:
        """E30, in one of its many spellings."""
        by_step = seen.query.get("group_id") == GROUP
        if self.shape.strings:
            rows: list[Any] = [{"step": "100"}, {"step": "200"}, {"step": "one"}, None]
        else:
            rows = [100, 200.0, True, "300"] if self.shape.alias else [100, 200]
        found = {"steps": rows if by_step else []}
        if self.shape.nulls:
            return {**found, "samplingMode": None}
        if self.shape.bare:
            return {**found, "hasStep" if self.shape.camel else "has_step": by_step}
        return {**found, "samplingMode" if self.shape.camel else "sampling_mode": "step" if by_step else "all_jobs"}

    def behaviour_tasks(self, seen: Seen) -> Any:
        """E32: a bare list, a list by name, or one task."""
        task = {"uid": UID, "task_id": "server's", "group": seen.query.get("group_id")}
        if self.shape.nulls:
            return task
        return [task] if self.shape.bare else {"tasks": [task], "total": 1}

    def analysis(self, seen: Seen) -> dict[str, Any]:
        """E34."""
        found = {"uid": seen.path_ids["uid"], "summary": "s", "categoryScores": [1], "behaviorPatterns": [2], "own": 3}
        return found if self.shape.nulls else {**found, "samplingMode" if self.shape.camel else "sampling_mode": "step"}

    # ---- the ways to them -----------------------------------------------------------------------------------------------------------

    def _of_job(self, value: Callable[[str], Any]) -> Callable[[Seen], Any]:
        known = JOBS + PLAIN_JOBS
        return lambda seen: value(seen.path_ids["job"]) if seen.path_ids["job"] in known else error(404, f"no job {seen.path_ids['job']}")

    def _of_group(self, value: Callable[[str], Any]) -> Callable[[Seen], Any]:
        def answer(seen: Seen) -> Any:
            group = seen.path_ids["group"]
            return value(group) if group in self.groups else error(404, f"no group {group}")

        return answer

    def _listed(self, seen: Seen) -> Sequence[str]:
        return self.groups.get(seen.query.get("group_id", ""), ())

    def _tasks(self, seen: Seen) -> Any:
        group = seen.path_ids["group"]
        if group not in self.groups:
            return error(404, f"no group {group}")
        name = "id" if self.shape.alias else "task_id"
        return self._page(seen, "tasks", [{name: f"task-{n}", "passed": n} for n in range((len(self.groups[group]) + 1) // 2)])

    def _page(self, seen: Seen, name: str, rows: Sequence[Any], *, tokens: bool = False) -> dict[str, Any]:
        skip, limit = int(seen.query.get("skip", 0)), min(int(seen.query.get("limit", 50)), self.shape.cap)
        found: dict[str, Any] = {name: list(rows[skip : skip + limit]), "own": "kept"}
        if self.shape.totals and not self.shape.nulls:
            found["total"] = len(rows)
        if tokens and not self.shape.nulls:
            found["tokenized_metrics"] = {"avg_llm_calls": 2, "tokenized_job_count": 5}
        return found

    def _task(self, seen: Seen) -> Any:
        jobs = {TASK: (GROUP, JOBS[:3]), MEDIA_TASK: (PLAIN, PLAIN_JOBS)}.get(seen.path_ids["task"])
        if jobs is None:
            return error(404, "no such task")
        about = {} if self.shape.nulls else {"group_id": jobs[0], "created_at": "2026-01-01T00:00:00Z"}
        return {**about, "job_ids": [f" {jobs[1][0]} ", *jobs[1], ""]}


def archive_of(job: str) -> bytes:
    """The bytes of a job's archive."""
    return tgz({"job.txt": job.encode()})


def _stringed(value: Any) -> Any:
    """The same with every number as text."""
    if isinstance(value, dict):
        return {name: _stringed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_stringed(item) for item in value]
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
