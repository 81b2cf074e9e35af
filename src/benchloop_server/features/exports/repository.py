"""The jobs of a group with the place of each trajectory in the blob store, and the places of trajectories by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Row, and_, select

from benchloop_server.kit.principal import Principal
from benchloop_server.kit.verified import Place
from benchloop_server.sql.identities import IDENTITY
from benchloop_server.sql.places import PLACE, place_of
from benchloop_server.sql.tables import jobs, uploads

_PAGE = 2_000
_NAMES = 500


def trajectories(connection: Connection, principal: Principal, group_id: str) -> Iterator[Row[Any]]:
    """(document_bytes, source, `IDENTITY`, `PLACE`) in the order of the job list, nulls where a job has no trajectory; read in pages
    inside the caller's transaction. `source` is the name of the upload.
    """
    same = and_(uploads.c.workspace_id == jobs.c.workspace_id, uploads.c.kind == "trajectory", uploads.c.sha256 == jobs.c.trajectory_sha256)
    columns: list[Any] = [
        jobs.c.trajectory_bytes.label("document_bytes"),
        jobs.c.trajectory_sha256.label("source"),
        *IDENTITY,
        *PLACE,
    ]
    mine = (jobs.c.workspace_id == principal.workspace_id, jobs.c.group_id == group_id)
    query = select(*columns).select_from(jobs.outerjoin(uploads, same)).where(*mine).order_by(jobs.c.created_at, jobs.c.job_id)
    yield from connection.execution_options(yield_per=_PAGE).execute(query)


def places(connection: Connection, principal: Principal, sources: Iterable[str]) -> dict[str, Place]:
    """Where the trajectories of these names are now; those that are not there any more are left out."""
    found: dict[str, Place] = {}
    waiting = iter(sources)
    while some := list(islice(waiting, _NAMES)):
        mine = (uploads.c.workspace_id == principal.workspace_id, uploads.c.kind == "trajectory", uploads.c.sha256.in_(some))
        for row in connection.execute(select(uploads.c.sha256, *PLACE).where(*mine)):
            found[row.sha256] = place_of(row)
    return found
