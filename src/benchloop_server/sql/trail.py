"""The audit trail: who changed what, written in the transaction of the change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Connection, insert

from benchloop_server.kit.principal import Principal
from benchloop_server.sql.access import audit


@dataclass(frozen=True, slots=True)
class Event:
    """One change: what was done to what; `detail` goes to JSON."""

    action: str
    subject: str
    detail: dict[str, Any] = field(default_factory=dict)


def record(connection: Connection, principal: Principal, event: Event, *, at: int) -> None:
    """Add the row; `at` in microseconds."""
    who = {"workspace_id": principal.workspace_id, "user": principal.user, "key_id": principal.key_id}
    detail = msgspec.json.encode(event.detail).decode()
    connection.execute(insert(audit).values(at=at, action=event.action, subject=event.subject, detail_json=detail, **who))
