"""Who a job is, read from its row: what the document of a job without a trajectory is made of."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from benchloop_client.contract.trajectory import Unrecorded
from benchloop_server.sql.tables import jobs

#: The columns that `unrecorded_of` reads.
IDENTITY: list[Any] = [jobs.c.job_id, jobs.c.group_id, jobs.c.task_id, jobs.c.agent, jobs.c.agent_version, jobs.c.model]


def unrecorded_of(row: Row[Any]) -> Unrecorded:
    """The identity of a job whose trajectory was not recorded."""
    return Unrecorded(
        job_id=row.job_id, group_id=row.group_id, task_id=row.task_id, agent=row.agent, agent_version=row.agent_version, model=row.model
    )
