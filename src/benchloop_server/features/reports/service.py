"""Reports and weakness reports: what there is, and the wish for one.

A wish is kept once: while the same is wanted of the same data, asking again answers with the row that is there. So a client may repeat the
request as often as it likes, with or without an idempotency key.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import msgspec

from benchloop_client.contract.analysis import (
    GroupReport,
    GroupRsi,
    GroupRsiText,
    GroupTriggered,
    JobReport,
    JobRsi,
    JobRsiText,
    JobTriggered,
    Kind,
    ReportText,
)
from benchloop_server.features.analysis import service as analysis
from benchloop_server.features.analysis.service import Found
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.features.reports import repository
from benchloop_server.features.reports.repository import Wish
from benchloop_server.kit.clock import format_optional, format_time
from benchloop_server.kit.db import Connection, Row
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail

_VERDICT = ("tier", "fault_side", "reward_valid", "says", "wasted_steps", "wasted_seconds", "ruleset_version")


def job_report(services: Services, principal: Principal, job_id: str) -> JobReport:
    """E17. Raises `DomainError` (404)."""
    found = _of_job(services, principal, job_id)
    said: dict[str, Any] = found.shown.report if found.shown is not None else {}
    facts: dict[str, Any] = {name: said.get(name) for name in ("fail_reason", "sub_fail_reason", *_VERDICT)}
    facts["opinion"] = said.get("opinion")
    lists: dict[str, Any] = {name: said.get(name, []) for name in ("evidence", "secondary")}
    return JobReport(job_id=job_id, status=found.status, reports=_reports(found), report=said or None, error=found.error, **facts, **lists)


def group_report(services: Services, principal: Principal, group_id: str) -> GroupReport:
    """E18. Raises `DomainError` (404)."""
    found = _of_group(services, principal, group_id)
    said: dict[str, Any] = found.shown.report if found.shown is not None else {}
    parts: dict[str, Any] = {name: said.get(name) for name in ("headline", "rewards", "judge")}
    parts |= {name: said.get(name, []) for name in ("reasons", "findings")}
    return GroupReport(
        group_id=group_id,
        status=found.status,
        reports=_reports(found),
        fail_reason=None,
        sub_fail_reason=None,
        report=said or None,
        error=found.error,
        **parts,
    )


def job_rsi(services: Services, principal: Principal, job_id: str) -> JobRsi:
    """E21. Raises `DomainError` (404)."""
    found = _of_job(services, principal, job_id)
    text = None
    if found.shown is not None:
        facts = {name: found.shown.rsi[name] for name in ("costs", "sibling", "ruleset_version")}
        text = JobRsiText(report_md=found.shown.rsi_markdown, created_at=format_optional(found.made_at), **facts)
    return JobRsi(job_id=job_id, status=found.status, report=text, error=found.error)


def group_rsi(services: Services, principal: Principal, group_id: str) -> GroupRsi:
    """E22. Raises `DomainError` (404)."""
    found = _of_group(services, principal, group_id)
    text = None
    if found.shown is not None:
        facts = {name: found.shown.rsi[name] for name in ("headline", "weaknesses", "tasks", "not_the_agent", "unknown")}
        text = GroupRsiText(summary_md=found.shown.rsi_markdown, created_at=format_optional(found.made_at), **facts)
    return GroupRsi(group_id=group_id, status=found.status, report=text, error=found.error)


def want_of_job(services: Services, principal: Principal, job_id: str, *, kind: Kind) -> JobTriggered:
    """E19 and E23. Raises `DomainError` (404)."""
    rules = services.rules.digest
    with services.db.write() as connection:
        group_id = jobs.find(connection, principal, job_id).group_id
        groups.hold(connection, principal, group_id)
        fingerprint = jobs.find(connection, principal, job_id).fingerprint
        wish = _wish(kind, group_id, job_id=job_id, include_passed=None, data_digest=f"{fingerprint}+{rules}")
        row = _kept(connection, principal, wish, now=services.clock())
        analysis.want(connection, principal, group_id, which=analysis.Which(job_id), services=services)
        status = analysis.job(connection, principal, group_id=group_id, job_id=job_id).status
    return JobTriggered(job_id=job_id, status=status, **_answer(row))


def want_of_group(services: Services, principal: Principal, group_id: str, *, kind: Kind, include_passed: bool) -> GroupTriggered:
    """E20 and E24. Raises `DomainError` (404)."""
    rules = services.rules.digest
    with services.db.write() as connection:
        groups.hold(connection, principal, group_id)
        data_digest = jobs.digest(connection, principal, JobFilter(group_id=group_id))
        wish = _wish(kind, group_id, job_id=None, include_passed=include_passed, data_digest=f"{data_digest}+{rules}")
        row = _kept(connection, principal, wish, now=services.clock())
        n_jobs = analysis.want(connection, principal, group_id, which=analysis.Which(passed=include_passed), services=services)
        status = analysis.group(connection, principal, group_id).status
    return GroupTriggered(group_id=group_id, status=status, jobs=n_jobs, **_answer(row))


def _of_job(services: Services, principal: Principal, job_id: str) -> Found:
    with services.db.read() as connection:
        row = jobs.find(connection, principal, job_id)
        return analysis.job(connection, principal, group_id=row.group_id, job_id=job_id)


def _of_group(services: Services, principal: Principal, group_id: str) -> Found:
    with services.db.read() as connection:
        groups.require(connection, principal, group_id)
        return analysis.group(connection, principal, group_id)


def _reports(found: Found) -> list[ReportText]:
    if found.shown is None or found.made_at is None:
        return []
    return [ReportText(content=found.shown.markdown, created_at=format_time(found.made_at))]


def _wish(kind: Kind, group_id: str, *, job_id: str | None, include_passed: bool | None, data_digest: str) -> Wish:
    subject_kind, subject_id = ("group", group_id) if job_id is None else ("job", job_id)
    same = msgspec.json.encode([kind, subject_kind, subject_id, include_passed, data_digest])
    return Wish(
        kind=kind,
        group_id=group_id,
        subject_kind=subject_kind,
        subject_id=subject_id,
        include_passed=include_passed,
        data_digest=data_digest,
        live_key=hashlib.sha256(same).hexdigest(),
    )


def _kept(connection: Connection, principal: Principal, wish: Wish, *, now: int) -> Row[Any]:
    """The row of the wish, made if there is none. The caller holds the group, so that two equal wishes wait for each other."""
    row = repository.live(connection, principal, wish)
    if row is None:
        repository.add(connection, principal, wish, request_id=f"an-{secrets.token_hex(10)}", now=now)
        event = trail.Event("analysis.request", wish.subject_id, {"kind": wish.kind, "of": wish.subject_kind})
        trail.record(connection, principal, event, at=now)
        row = repository.live(connection, principal, wish)
    if row is None:
        raise RuntimeError("a row that was just written is not there")
    return row


def _answer(row: Row[Any]) -> dict[str, Any]:
    same = {name: getattr(row, name) for name in ("kind", "include_passed", "requested_by")}
    return {**same, "requested_at": format_time(row.requested_at)}
