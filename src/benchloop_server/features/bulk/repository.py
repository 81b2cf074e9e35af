"""What a group's or a list's jobs have of one kind, with the place of each in the blob store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, Row, Select, and_, select

from benchloop_server.kit.principal import Principal
from benchloop_server.sql.identities import IDENTITY
from benchloop_server.sql.places import PLACE
from benchloop_server.sql.tables import jobs, uploads

#: The kinds of uploads that are read here.
Kind: TypeAlias = Literal["trajectory", "archive"]

_OF_TRAJECTORY: list[Any] = [jobs.c.trajectory_bytes.label("document_bytes"), uploads.c.info_json]
_PAGE = 2_000
_IDS = 500


def of_group(connection: Connection, principal: Principal, kind: Kind, group_id: str) -> Iterator[Row[Any]]:
    """(`IDENTITY`, `PLACE`, size of an archive, document_bytes and info_json of a trajectory) in the order of the job list, nulls where a
    job has nothing of the kind; read in pages inside the caller's transaction.
    """
    query = _query(principal, kind).where(jobs.c.group_id == group_id).order_by(jobs.c.created_at, jobs.c.job_id)
    yield from connection.execution_options(yield_per=_PAGE).execute(query)


def of_jobs(connection: Connection, principal: Principal, kind: Kind, job_ids: Iterable[str]) -> Iterator[tuple[str, Row[Any] | None]]:
    """(job id, row as in `of_group`) in the order given; None for a job that is not there."""
    waiting = iter(job_ids)
    while some := list(islice(waiting, _IDS)):
        rows = {row.job_id: row for row in connection.execute(_query(principal, kind).where(jobs.c.job_id.in_(some)))}
        yield from ((job_id, rows.get(job_id)) for job_id in some)


def _query(principal: Principal, kind: Kind) -> Select[Any]:
    named = jobs.c.trajectory_sha256 if kind == "trajectory" else jobs.c.archive_sha256
    same = and_(uploads.c.workspace_id == jobs.c.workspace_id, uploads.c.kind == kind, uploads.c.sha256 == named)
    own = _OF_TRAJECTORY if kind == "trajectory" else [uploads.c.size]
    return select(*IDENTITY, *PLACE, *own).select_from(jobs.outerjoin(uploads, same)).where(jobs.c.workspace_id == principal.workspace_id)
