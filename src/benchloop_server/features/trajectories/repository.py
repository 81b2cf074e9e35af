"""Where a job's trajectory and media lie in the blob store."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, Select, and_, bindparam, select

from benchloop_server.kit.principal import Principal
from benchloop_server.sql.identities import IDENTITY
from benchloop_server.sql.places import INDEX, PLACE
from benchloop_server.sql.tables import job_media, jobs, uploads


def trajectory(connection: Connection, principal: Principal, job_id: str) -> Row[Any] | None:
    """(sha256, document_bytes, `IDENTITY`, `PLACE`, `INDEX`) of the job's trajectory: nulls for a job without, None without a job."""
    return connection.execute(_TRAJECTORY, {"workspace": principal.workspace_id, "job": job_id}).one_or_none()


def media(connection: Connection, principal: Principal, job_id: str, *, sha256: str, name: str) -> Row[Any] | None:
    """(`PLACE`, mime_type) of an image or sound that the job shows under this name."""
    joined = job_media.join(uploads, _upload_of(job_media.c.workspace_id, "media", job_media.c.sha256))
    mine = (job_media.c.workspace_id == principal.workspace_id, job_media.c.job_id == job_id)
    columns: list[Any] = [*PLACE, job_media.c.mime_type]
    query = select(*columns).select_from(joined)
    return connection.execute(query.where(*mine, job_media.c.sha256 == sha256, job_media.c.name == name)).one_or_none()


def _upload_of(workspace: Any, kind: str, sha256: Any) -> Any:
    return and_(uploads.c.workspace_id == workspace, uploads.c.kind == kind, uploads.c.sha256 == sha256)


def _trajectory() -> Select[Any]:
    joined = jobs.outerjoin(uploads, _upload_of(jobs.c.workspace_id, "trajectory", jobs.c.trajectory_sha256))
    columns: list[Any] = [
        jobs.c.trajectory_sha256.label("sha256"),
        jobs.c.trajectory_bytes.label("document_bytes"),
        *IDENTITY,
        *PLACE,
        *INDEX,
    ]
    mine = (jobs.c.workspace_id == bindparam("workspace"), jobs.c.job_id == bindparam("job"))
    return select(*columns).select_from(joined).where(*mine)


#: Made once: a statement costs more to make than to run.
_TRAJECTORY = _trajectory()
