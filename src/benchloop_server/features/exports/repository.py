"""The jobs of a group, with the place of each trajectory in the blob store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, and_, select

from benchloop_server.kit.principal import Principal
from benchloop_server.sql.identities import IDENTITY
from benchloop_server.sql.places import PLACE
from benchloop_server.sql.tables import jobs, uploads

_PAGE = 2_000


def trajectories(connection: Connection, principal: Principal, group_id: str) -> Iterator[Row[Any]]:
    """(document_bytes, `IDENTITY`, `PLACE`) in the order of the job list, nulls where a job has no trajectory; read in pages inside the
    caller's transaction.
    """
    same = and_(uploads.c.workspace_id == jobs.c.workspace_id, uploads.c.kind == "trajectory", uploads.c.sha256 == jobs.c.trajectory_sha256)
    columns: list[Any] = [jobs.c.trajectory_bytes.label("document_bytes"), *IDENTITY, *PLACE]
    mine = (jobs.c.workspace_id == principal.workspace_id, jobs.c.group_id == group_id)
    query = select(*columns).select_from(jobs.outerjoin(uploads, same)).where(*mine).order_by(jobs.c.created_at, jobs.c.job_id)
    yield from connection.execution_options(yield_per=_PAGE).execute(query)
