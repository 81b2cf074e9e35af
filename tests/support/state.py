"""All that a server tells about a group, over every route and without times: two servers that took the same run must tell the same."""

from __future__ import annotations

import hashlib
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_TIMES = {"created_at", "updated_at", "next_cursor", "request_id"}
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class Reader:
    """Plain GETs with a key, to look at a server without our client."""

    origin: str
    key: str

    def get(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers (lower case) of an answer; errors are answers too."""
        request = urllib.request.Request(f"{self.origin}{path}", headers={"X-API-Key": self.key})
        try:
            with _NO_PROXY.open(request, timeout=30) as answer:
                return answer.status, answer.read(), {name.lower(): value for name, value in answer.headers.items()}
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read(), {}

    def json(self, path: str) -> Any:
        """The JSON of a good answer."""
        status, body, _ = self.get(path)
        assert status == 200, f"{path}: {status} {body[:300]!r}"
        return json.loads(body)

    def jobs(self, group: str) -> list[dict[str, Any]]:
        """All rows of the job list."""
        rows: list[dict[str, Any]] = []
        while True:
            page = self.json(f"/openapi/jobs?group_id={quote(group)}&skip={len(rows)}&limit=1000")
            rows += page["jobs"]
            if len(rows) >= page["total"] or not page["jobs"]:
                return rows


def group_state(reader: Reader, group: str) -> dict[str, Any]:
    """Every documented answer about a group and its jobs, timeless and in an order of its own."""
    base = f"/openapi/groups/{quote(group)}"
    rows = sorted(reader.jobs(group), key=lambda row: str(row["job_id"]))
    state: dict[str, Any] = {
        "group": reader.json(base),
        "jobs": rows,
        "summary": reader.json(f"{base}/eval_summary"),
        "tasks": reader.json(f"{base}/eval_tasks?limit=1000"),
        "overall": reader.json(f"{base}/metrics/overall"),
        "metrics": _by_job(reader.json(f"/openapi/metrics?group_id={quote(group)}&limit=1000")["metrics"]),
        "stats": reader.json(f"/openapi/jobs/stats?group_id={quote(group)}"),
        "ids": sorted(reader.json(f"{base}/job-ids")["job_ids"]),
        "lines": sorted(reader.get(f"{base}/trajectory/lines")[1].splitlines()),
        "of jobs": {row["job_id"]: job_state(reader, row["job_id"]) for row in rows},
    }
    return _timeless(state)  # type: ignore[no-any-return]


def job_state(reader: Reader, job: str) -> dict[str, Any]:
    """Every documented answer about one job; big bodies by their digest."""
    base = f"/openapi/jobs/{quote(job)}"
    bodies = {name: reader.get(f"{base}/{path}") for name, path in (("trajectory", "trajectory"), ("archive", "artifacts/download"))}
    return {
        "job": reader.json(base),
        "meta": reader.json(f"{base}/meta"),
        "artifacts": reader.json(f"{base}/artifacts"),
        "metrics": reader.json(f"/openapi/metrics/{quote(job)}"),
        **{name: (status, hashlib.sha256(body).hexdigest() if status == 200 else None) for name, (status, body, _) in bodies.items()},
    }


def half_visible(reader: Reader, group: str) -> list[str]:
    """What is shown of a group but is not whole; empty when everything that is there is complete."""
    status, body, _ = reader.get(f"/openapi/groups/{quote(group)}")
    if status == 404:
        return []
    rows = reader.jobs(group)
    wrong = [] if json.loads(body)["present"] == len(rows) else [f"{json.loads(body)['present']} present, {len(rows)} listed"]
    return wrong + [fault for row in rows for fault in _faults(reader, row)]


def _faults(reader: Reader, row: dict[str, Any]) -> list[str]:
    base = f"/openapi/jobs/{quote(row['job_id'])}"
    sizes = {"trajectory": row["trajectory_bytes"], "artifacts/download": row["artifact_bytes"]}
    found = []
    for path, size in sizes.items():
        status, body, _ = reader.get(f"{base}/{path}")
        # A job without a trajectory has a document without steps.
        absent = status == 404 or (path == "trajectory" and status == 200 and json.loads(body)["steps"] == [])
        if not (absent if size is None else status == 200 and len(body) == size):
            found.append(f"{row['job_id']}: {path} of {size} bytes answers {status} with {len(body)}")
    return found


def _by_job(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["job_id"]))


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in _TIMES}
    if isinstance(value, list):
        return [_timeless(item) for item in value]
    return value
