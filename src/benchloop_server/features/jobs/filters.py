"""Which jobs are meant: the filters of the job list, also frozen into download tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from benchloop_client.contract.outcome import OUTCOMES
from benchloop_client.contract.resources import Status
from benchloop_server.kit.errors import bad_request

STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """All given facts have to be equal; None means any. `group_id` None means every group of the workspace."""

    group_id: str | None = None
    template: str | None = None
    status: str | None = None
    instance_id: str | None = None
    outcome: str | None = None
    task_id: str | None = None
    model: str | None = None
    agent: str | None = None
    step: int | None = None
    error_type: str | None = None
    reward_valid: bool | None = None

    def conditions(self) -> dict[str, str | int | bool]:
        """Column names and the values they have to have.

        An empty text means not given, except for the group. `status` also takes an outcome, because the documented client can ask for
        nothing else. Raises `DomainError` (400) for a word that is neither.
        """
        given = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) not in {None, ""}}
        if self.group_id is not None:
            given["group_id"] = self.group_id
        if (status := given.pop("status", None)) is not None:
            given |= _status(str(status), outcome=given.get("outcome"))
        if given.get("outcome", OUTCOMES[0]) not in OUTCOMES:
            raise bad_request(f"`outcome` {given['outcome']!r} is none of {', '.join(OUTCOMES)}")
        return given


def _status(status: str, *, outcome: object) -> dict[str, str]:
    if status in STATUSES:
        return {"status": status}
    if status not in OUTCOMES:
        raise bad_request(f"`status` {status!r} is none of {', '.join((*STATUSES, *OUTCOMES))}")
    if outcome not in {None, status}:
        raise bad_request(f"`status` {status!r} and `outcome` {outcome!r} exclude each other")
    return {"outcome": status}
