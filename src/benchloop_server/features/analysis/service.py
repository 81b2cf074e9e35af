"""Wishes for analysis, and what the analysis found. It is made by a worker (`features.analysis.judging`); nothing of it is loaded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from benchloop_client.contract.analysis import FAILED, NOT_ANALYSED, QUEUED, RUNNING, SUCCEEDED
from benchloop_client.contract.compression import decode
from benchloop_server.features.analysis import repository
from benchloop_server.kit.db import Connection
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import work
from benchloop_server.sql.work import Standing

KIND = "analyse"
Which = repository.Which
_RANK, _ASKED_RANK = 10, 0
#: A push of many batches is waited for as long as they follow each other this quickly (microseconds).
_QUIET = 1_000_000


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What is served about a job or a group: the report as a record and as Markdown, and the weaknesses likewise."""

    report: dict[str, Any]
    markdown: str
    rsi: dict[str, Any]
    rsi_markdown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How far the analysis is, in a word of `contract.analysis`, what there is so far, when it was made, and why it failed."""

    status: str
    shown: Shown | None = None
    made_at: int | None = None
    error: str | None = None


def after_push(connection: Connection, principal: Principal, *, group_id: str, now: int) -> None:
    """Have the new jobs of the group judged and its report made, in the transaction that changed it."""
    repository.want(connection, principal.workspace_id, group_id)
    _enqueue(connection, principal, group_id, rank=_RANK, due_at=now + _QUIET, now=now)


def want(connection: Connection, principal: Principal, group_id: str, *, which: Which, services: Services) -> int:
    """Have these jobs judged by the present rules and judge, where that is not so; returns how many they are. The caller holds the
    group.
    """
    workspace_id, rules_digest, now = principal.workspace_id, services.rules.digest, services.clock()
    repository.want(connection, workspace_id, group_id)
    repository.make_stale(connection, workspace_id, group_id, which=which, rules_digest=rules_digest)
    judging = services.judging
    unsure = judging is not None and repository.count_unsure(connection, workspace_id, group_id, judge_digest=judging.digest) > 0
    made = _is_made(connection, principal, group_id, rules_digest)
    if unsure or not made or repository.has_to_do(connection, workspace_id, group_id):
        _enqueue(connection, principal, group_id, rank=_ASKED_RANK, due_at=now, now=now)
    return repository.count(connection, workspace_id, group_id, which=which)


def job(connection: Connection, principal: Principal, *, group_id: str, job_id: str) -> Found:
    """What was found about the job's present content."""
    row = repository.of_job(connection, principal.workspace_id, job_id)
    if row is None or row.stale:
        status = _waiting(_standing(connection, principal, group_id))
        return Found(status=status) if row is None else _found(status, row.shown, row.judged_at)
    if row.error is not None:
        return Found(status=FAILED, made_at=row.judged_at, error=row.error)
    return _found(SUCCEEDED, row.shown, row.judged_at)


def group(connection: Connection, principal: Principal, group_id: str) -> Found:
    """What was found about the group; while it is made anew, what was found before."""
    row = repository.of_group(connection, principal.workspace_id, group_id)
    standing = _standing(connection, principal, group_id)
    there = row is not None and row.shown is not None
    live = standing is not None and (standing.state in work.LIVE or standing.state == "failed")
    status = _waiting(standing) if live or not there else SUCCEEDED
    found = _found(status, row.shown if row else None, row.made_at if row else None)
    return (
        found
        if status != FAILED or standing is None
        else Found(status=status, shown=found.shown, made_at=found.made_at, error=standing.error)
    )


def _found(status: str, shown: bytes | None, made_at: int | None) -> Found:
    read = None if shown is None else msgspec.json.decode(b"".join(decode([shown])), type=Shown)
    return Found(status=status, shown=read, made_at=made_at)


def _waiting(standing: Standing | None) -> str:
    """The word for something that is not there yet."""
    if standing is None:
        return NOT_ANALYSED
    return {"pending": QUEUED, "claimed": RUNNING, "failed": FAILED}.get(standing.state, NOT_ANALYSED)


def _standing(connection: Connection, principal: Principal, group_id: str) -> Standing | None:
    return work.standing(connection, principal.workspace_id, KIND, keys=[group_id]).get(group_id)


def _is_made(connection: Connection, principal: Principal, group_id: str, rules_digest: str) -> bool:
    row = repository.of_group(connection, principal.workspace_id, group_id)
    return row is not None and row.shown is not None and row.rules_digest == rules_digest


def _enqueue(connection: Connection, principal: Principal, group_id: str, *, rank: int, due_at: int, now: int) -> None:
    wish = work.Wish(workspace_id=principal.workspace_id, kind=KIND, key=group_id, rank=rank, due_at=due_at)
    work.enqueue(connection, wish, now=now)
