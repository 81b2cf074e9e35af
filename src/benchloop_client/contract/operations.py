"""One row per API call: who may call it, its method and path. The client builds requests from it, the server is tested against it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from benchloop_client.contract.ids import segment

Scope = Literal["public", "read", "write", "admin"]
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: `row` is its number in the documented protocol (E1..E34), None for a route of ours."""

    name: str
    method: str
    path: str
    scope: Scope
    row: str | None = None

    def url_path(self, **ids: str) -> str:
        """The path with each id percent-encoded as one segment. Raises `BadId` for an id that no request is made for."""
        return _FIELD.sub(lambda match: segment(ids[match.group(1)]), self.path)


def _table(*rows: tuple[str, str, str, str, Scope]) -> dict[str, Operation]:
    return {name: Operation(name, method, path, scope, row if row.startswith("E") else None) for row, name, method, path, scope in rows}


OPERATIONS: dict[str, Operation] = _table(
    ("E1", "job_metrics", "GET", "/openapi/metrics/{job_id}", "read"),
    ("E2", "metrics", "GET", "/openapi/metrics", "read"),
    ("E3", "group_metrics_overall", "GET", "/openapi/groups/{group_id}/metrics/overall", "read"),
    ("E4", "group", "GET", "/openapi/groups/{group_id}", "read"),
    ("E5", "eval_summary", "GET", "/openapi/groups/{group_id}/eval_summary", "read"),
    ("E6", "eval_tasks", "GET", "/openapi/groups/{group_id}/eval_tasks", "read"),
    ("E7", "jobs", "GET", "/openapi/jobs", "read"),
    ("E8", "job", "GET", "/openapi/jobs/{job_id}", "read"),
    ("E9", "job_stats", "GET", "/openapi/jobs/stats", "read"),
    ("E10", "job_trajectory", "GET", "/openapi/jobs/{job_id}/trajectory", "read"),
    ("E11", "group_trajectory", "GET", "/openapi/groups/{group_id}/trajectory", "read"),
    ("E12", "group_export", "GET", "/openapi/groups/{group_id}/trace-trajectory/download", "read"),
    ("E13", "group_export_state", "GET", "/openapi/groups/{group_id}/trace-trajectory/download/{download_job_name}", "read"),
    ("E14", "group_export_file", "GET", "/openapi/groups/{group_id}/trace-trajectory/file/{download_job_name}", "read"),
    ("E15", "group_job_ids", "GET", "/openapi/groups/{group_id}/job-ids", "read"),
    ("E16", "media_file", "GET", "/openapi/getTrajV2/mediaFile", "read"),
    ("E17", "job_report", "GET", "/openapi/jobs/{job_id}/report", "read"),
    ("E18", "group_report", "GET", "/openapi/groups/{group_id}/report", "read"),
    ("E19", "job_report_trigger", "POST", "/openapi/jobs/{job_id}/report/trigger", "write"),
    ("E20", "group_report_trigger", "POST", "/openapi/groups/{group_id}/report/trigger", "write"),
    ("E21", "job_rsi", "GET", "/openapi/jobs/{job_id}/rsi", "read"),
    ("E22", "group_rsi", "GET", "/openapi/groups/{group_id}/rsi", "read"),
    ("E23", "job_rsi_trigger", "POST", "/openapi/jobs/{job_id}/rsi/trigger", "write"),
    ("E24", "group_rsi_trigger", "POST", "/openapi/groups/{group_id}/rsi/trigger", "write"),
    ("E25", "job_artifacts", "GET", "/openapi/jobs/{job_id}/artifacts", "read"),
    ("E26", "job_artifact_bytes", "GET", "/openapi/jobs/{job_id}/artifacts/download", "read"),
    ("E28", "download_task", "GET", "/openapi/trajectory-download-tasks/{task_id}", "read"),
    ("E29", "job_meta", "GET", "/openapi/jobs/{job_id}/meta", "read"),
    ("E30", "behavior_steps", "GET", "/openapi/behavior/steps", "read"),
    ("E31", "behavior_task_create", "POST", "/openapi/behavior/tasks", "write"),
    ("E32", "behavior_tasks", "GET", "/openapi/behavior/tasks", "read"),
    ("E33", "behavior_task", "GET", "/openapi/behavior/tasks/{uid}", "read"),
    ("E34", "behavior_analysis", "GET", "/openapi/behavior/tasks/{uid}/analysis", "read"),
    ("", "behavior_task_cancel", "POST", "/openapi/behavior/tasks/{uid}/cancel", "write"),
    ("", "version", "GET", "/openapi/version", "public"),
    ("", "status", "GET", "/openapi/status", "read"),
    ("", "groups", "GET", "/openapi/groups", "read"),
    ("", "group_put", "PUT", "/openapi/groups/{group_id}", "write"),
    ("", "group_patch", "PATCH", "/openapi/groups/{group_id}", "write"),
    ("", "group_delete", "DELETE", "/openapi/groups/{group_id}", "write"),
    ("", "whoami", "GET", "/openapi/whoami", "read"),
    ("", "group_metrics_detail", "GET", "/openapi/groups/{group_id}/metrics/detail", "read"),
    ("", "group_artifacts", "GET", "/openapi/groups/{group_id}/artifacts", "read"),
    ("", "group_trajectory_lines", "GET", "/openapi/groups/{group_id}/trajectory/lines", "read"),
    ("", "group_bulk", "GET", "/openapi/groups/{group_id}/bulk/{kind}", "read"),
    ("", "group_bulk_index", "GET", "/openapi/groups/{group_id}/bulk/{kind}/index", "read"),
    ("", "task_bulk", "GET", "/openapi/download-tasks/{task_id}/bulk/{kind}", "read"),
    ("", "task_bulk_index", "GET", "/openapi/download-tasks/{task_id}/bulk/{kind}/index", "read"),
    ("", "jobs_check", "POST", "/openapi/groups/{group_id}/jobs/check", "write"),
    ("", "jobs_put", "POST", "/openapi/groups/{group_id}/jobs", "write"),
    ("", "uploads_check", "POST", "/openapi/uploads/check", "write"),
    ("", "uploads_bundle", "POST", "/openapi/uploads", "write"),
    ("", "upload_put", "PUT", "/openapi/uploads/{kind}/{sha256}", "write"),
    ("", "job_artifact_members", "GET", "/openapi/jobs/{job_id}/artifacts/members", "read"),
    ("", "job_artifact_member", "GET", "/openapi/jobs/{job_id}/artifacts/member", "read"),
    ("", "download_task_create", "POST", "/openapi/trajectory-download-tasks", "write"),
)
