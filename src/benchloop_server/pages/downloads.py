"""Download tasks: frozen lists of jobs, what they weigh, and the commands that fetch them."""

from __future__ import annotations

from typing import Any

from litestar.handlers import HTTPRouteHandler

from benchloop_server.features.downloads import service as downloads
from benchloop_server.features.listing import service as listing
from benchloop_server.pages import formatting
from benchloop_server.pages.page import Asked, Crumb, Page, changed, command, path_of, with_query
from benchloop_server.pages.routing import page

_ROWS = 50
_SHOWN_JOBS = 50
_LIST = "/downloads"


def tasks(asked: Asked) -> Page:
    """All tasks of the workspace, newest first."""
    found = downloads.listed(asked.services, asked.principal, limit=_ROWS, cursor=asked.one("after") or None)
    rows = [{"task": task, "url": path_of("downloads", task.task_id), "group_url": path_of("groups", task.group_id)} for task in found.rows]
    return Page(
        template="downloads.html",
        title="Download tasks",
        line="Lists of jobs, frozen: what is fetched later is exactly what was chosen then.",
        data={
            "rows": rows,
            "total": found.total,
            "next": with_query(asked.path, changed(asked.query, after=found.next_cursor)) if found.next_cursor else None,
            "first": _LIST if asked.one("after") else None,
        },
        commands=[command("download-tasks", "create", "-g", "GROUP")],
    )


def task(asked: Asked) -> Page:
    """One task."""
    task_id = asked.ids["task_id"]
    found = downloads.get(asked.services, asked.principal, task_id)
    sizes = listing.sizes(asked.services, asked.principal, found.job_ids)
    fetch: list[dict[str, Any]] = [
        {
            "what": "Trajectories, one ZIP",
            "bytes": sizes.trajectory_bytes,
            "jobs": sizes.trajectories,
            "command": command("trajectory", "download", task_id=task_id),
        },
        {
            "what": "Artifacts, one ZIP",
            "bytes": sizes.archive_bytes,
            "jobs": sizes.archives,
            "command": command("artifacts", "download", task_id=task_id),
        },
        {
            "what": "Metadata, one ZIP",
            "bytes": None,
            "jobs": sizes.jobs - sizes.gone,
            "command": command("metadata", "download", task_id=task_id),
        },
    ]
    return Page(
        template="download.html",
        title=task_id,
        line=f"{formatting.number(found.total)} jobs, frozen",
        crumbs=[Crumb("Download tasks", _LIST), Crumb(task_id)],
        data={
            "task": {"task_id": task_id, "group_id": found.group_id, "total": found.total, "created_at": found.created_at},
            "filters": {name: value for name, value in found.filters.items() if name != "group_id"},
            "group_url": path_of("groups", str(found.group_id)),
            "sizes": sizes,
            "fetch": fetch,
            "jobs": [{"job_id": job_id, "url": path_of("jobs", job_id)} for job_id in found.job_ids[:_SHOWN_JOBS]],
        },
        commands=[each["command"] for each in fetch],
        routes=[f"/openapi/trajectory-download-tasks/{task_id}"],
    )


ROUTES: list[HTTPRouteHandler] = [page("/downloads", tasks), page("/downloads/{task_id:str}", task)]
