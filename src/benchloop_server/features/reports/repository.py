"""The rows of requests for analysis. They are the truth: what is `pending` is to be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from benchloop_client.contract.analysis import Kind
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.tables import analysis_requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants analysed. `include_passed` None: a job. `data_digest` says over which data."""

    kind: Kind
    group_id: str
    subject_kind: str
    subject_id: str
    include_passed: bool | None
    data_digest: str
    live_key: str


def live(connection: Connection, principal: Principal, wish: Wish) -> Row[Any] | None:
    """The row of an equal wish that has not failed."""
    mine = (analysis_requests.c.workspace_id == principal.workspace_id, analysis_requests.c.live_key == wish.live_key)
    return connection.execute(select(analysis_requests).where(*mine)).one_or_none()


def add(connection: Connection, principal: Principal, wish: Wish, *, request_id: str, now: int) -> None:
    """Keep the wish as pending."""
    values = {name: getattr(wish, name) for name in Wish.__slots__}
    who = {"workspace_id": principal.workspace_id, "requested_by": principal.user}
    connection.execute(insert(analysis_requests).values(request_id=request_id, state="pending", requested_at=now, **who, **values))
