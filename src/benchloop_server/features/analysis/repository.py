"""The rows of verdicts and group reports, and the marks that the verdicts leave on jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from benchloop_server.sql import observations
from benchloop_server.sql.observations import Observation
from benchloop_server.sql.tables import (
    analysis_requests,
    group_reports,
    groups,
    jobs,
    judge_answers,
    judge_spending,
    uploads,
    verdict_texts,
    verdicts,
)

_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_PAGE = 1_000
#: Reasons that a judge is asked about: `benchloop_analysis.judge.REASONS`, and `unknown`. Said again, as the analysis is not loaded here.
ASKED_ABOUT = ("agent_process", "tool_use", "task_understanding", "wrong_solution", "unknown")

#: How the keys of questions about behaviour begin; those about verdicts are plain digests.
BEHAVIOUR = "behaviour:"

_traces, _archives = uploads.alias("traces"), uploads.alias("archives")
_SAME_JOB = and_(verdicts.c.workspace_id == jobs.c.workspace_id, verdicts.c.job_id == jobs.c.job_id)
_SAME_TEXTS = and_(verdict_texts.c.workspace_id == jobs.c.workspace_id, verdict_texts.c.job_id == jobs.c.job_id)
_OF_TRACE = and_(
    _traces.c.workspace_id == jobs.c.workspace_id, _traces.c.kind == "trajectory", _traces.c.sha256 == jobs.c.trajectory_sha256
)
_OF_ARCHIVE = and_(
    _archives.c.workspace_id == jobs.c.workspace_id, _archives.c.kind == "archive", _archives.c.sha256 == jobs.c.archive_sha256
)
#: The verdict is about what the job holds now.
_FITS = verdicts.c.fingerprint == jobs.c.fingerprint
_TO_DO = or_(verdicts.c.job_id.is_(None), ~_FITS, verdicts.c.stale)
_PASSED = and_(jobs.c.reward >= 1, jobs.c.reward_valid_recorded.is_not(False))

_FACTS = (
    *("job_id", "task_id", "step", "status", "error_type", "error_message", "reward", "reward_key", "rewards_json", "agent", "model"),
    *("reward_valid_recorded", "started_at", "finished_at", "phases_json", "source_json", "meta_json", "cost_usd", "fingerprint"),
    *("trajectory_sha256", "trajectory_bytes", "archive_sha256", "n_steps", "created_at"),
)
_PLACE = ("blob", "blob_offset", "stored_size", "stored_sha256")
_INDEX = ("index_blob", "index_offset", "index_size", "index_sha256")


def _labelled(table: Any, prefix: str, names: Iterable[str]) -> list[Any]:
    return [table.c[name].label(f"{prefix}_{name}") for name in names]


_JOB: list[Any] = [
    *(jobs.c[name] for name in _FACTS),
    *_labelled(_traces, "trace", _PLACE),
    *_labelled(_archives, "archive", (*_PLACE, *_INDEX)),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVerdict:
    """A verdict to be kept: on the job with this content, and what it leaves on the job's row. With `error` there are no texts."""

    job_id: str
    fingerprint: str
    context: str
    fail_reason: str | None = None
    sub_fail_reason: str | None = None
    reward_valid: bool | None = None
    outcome: str | None = None
    tier: str | None = None
    kept: bytes = b""
    shown: bytes = b""
    error: str | None = None
    observation: Observation | None = None


@dataclass(frozen=True, slots=True)
class Which:
    """The jobs of a group that somebody asks about: one, or all, or (without `passed`) those that did not pass."""

    job_id: str | None = None
    passed: bool = True

    def where(self) -> list[ColumnElement[bool]]:
        """The condition on `jobs`."""
        if self.job_id is not None:
            return [jobs.c.job_id == self.job_id]
        return [] if self.passed else [func.coalesce(~_PASSED, True)]


# ---- what is to be done -------------------------------------------------------------------------------------------------------------


def want(connection: Connection, workspace_id: str, group_id: str) -> None:
    """Let the group have a row for its report."""
    row = {"workspace_id": workspace_id, "group_id": group_id}
    connection.execute(_INSERT[connection.dialect.name](group_reports).values(row).on_conflict_do_nothing())


def make_stale(connection: Connection, workspace_id: str, group_id: str, *, which: Which, rules_digest: str) -> int:
    """Have the verdicts on these jobs that were made by other rules, or failed, made again. Returns how many."""
    outdated = or_(verdicts.c.rules_digest != rules_digest, verdicts.c.error.is_not(None))
    mine = select(jobs.c.job_id).where(*_of_group(workspace_id, group_id), *which.where())
    these = (verdicts.c.workspace_id == workspace_id, verdicts.c.job_id.in_(mine))
    return connection.execute(update(verdicts).where(*these, outdated, ~verdicts.c.stale).values(stale=True)).rowcount


def count(connection: Connection, workspace_id: str, group_id: str, *, which: Which) -> int:
    """How many jobs these are."""
    return connection.execute(select(func.count()).select_from(jobs).where(*_of_group(workspace_id, group_id), *which.where())).scalar_one()


def has_to_do(connection: Connection, workspace_id: str, group_id: str) -> bool:
    """Whether any job of the group has no verdict on what it holds now."""
    query = select(jobs.c.job_id).select_from(jobs.outerjoin(verdicts, _SAME_JOB)).where(*_of_group(workspace_id, group_id), _TO_DO)
    return connection.execute(query.limit(1)).first() is not None


def count_to_do(connection: Connection, workspace_id: str, group_id: str) -> int:
    """How many jobs of the group have no verdict on what they hold now."""
    query = select(func.count()).select_from(jobs.outerjoin(verdicts, _SAME_JOB)).where(*_of_group(workspace_id, group_id), _TO_DO)
    return connection.execute(query).scalar_one()


def page_to_do(
    connection: Connection, workspace_id: str, group_id: str, *, after: tuple[str, str] | None, limit: int
) -> Sequence[Row[Any]]:
    """The next jobs to be judged, by task and id, `after` that task and id. Attempts at a task come together."""
    query = _jobs().where(*_of_group(workspace_id, group_id), _TO_DO)
    if after is not None:
        task_id, job_id = after
        later = or_(jobs.c.task_id > task_id, and_(jobs.c.task_id == task_id, jobs.c.job_id > job_id))
        query = query.where(later, jobs.c.task_id >= task_id)
    return connection.execute(query.order_by(jobs.c.task_id, jobs.c.job_id).limit(limit)).all()


def by_ids(connection: Connection, workspace_id: str, job_ids: Iterable[str]) -> Sequence[Row[Any]]:
    """These jobs (some hundred)."""
    return connection.execute(_jobs().where(jobs.c.workspace_id == workspace_id, jobs.c.job_id.in_(list(job_ids)))).all()


def lengths(connection: Connection, workspace_id: str, group_id: str, *, task_ids: Iterable[str]) -> Sequence[Row[Any]]:
    """(task_id, step, n_steps, jobs, passed): how many attempts at these tasks have so many steps."""
    columns: list[Any] = [jobs.c.task_id, jobs.c.step, jobs.c.n_steps]
    counts: list[Any] = [func.count().label("jobs"), func.sum(case((_PASSED, 1), else_=0)).label("passed")]
    query = select(*columns, *counts).where(*_of_group(workspace_id, group_id))
    return connection.execute(query.where(jobs.c.task_id.in_(list(task_ids))).group_by(*columns)).all()


def first_passed(connection: Connection, workspace_id: str, group_id: str, *, task_ids: Iterable[str]) -> Sequence[Row[Any]]:
    """Of each task and step the first job that passed and has a trajectory."""
    mine = (*_of_group(workspace_id, group_id), jobs.c.task_id.in_(list(task_ids)), _PASSED, jobs.c.trajectory_sha256.is_not(None))
    firsts = select(func.min(jobs.c.created_at)).where(*mine).group_by(jobs.c.task_id, jobs.c.step)
    return connection.execute(_jobs().where(jobs.c.workspace_id == workspace_id, jobs.c.created_at.in_(firsts))).all()


def judged_failures(connection: Connection, workspace_id: str, group_id: str, *, task_ids: Iterable[str]) -> Sequence[Row[Any]]:
    """(job_id, task_id, step, n_steps, context) of the attempts at these tasks that did not pass and have a verdict."""
    columns: list[Any] = [jobs.c.job_id, jobs.c.task_id, jobs.c.step, jobs.c.n_steps, verdicts.c.context]
    query = select(*columns).select_from(jobs.join(verdicts, _SAME_JOB)).where(*_of_group(workspace_id, group_id))
    return connection.execute(query.where(jobs.c.task_id.in_(list(task_ids)), func.coalesce(~_PASSED, True), ~_TO_DO)).all()


def _jobs() -> Select[Any]:
    joined = jobs.outerjoin(_traces, _OF_TRACE).outerjoin(_archives, _OF_ARCHIVE).outerjoin(verdicts, _SAME_JOB)
    return select(*_JOB).select_from(joined)


# ---- what was found -----------------------------------------------------------------------------------------------------------------


def keep(connection: Connection, workspace_id: str, found: Iterable[NewVerdict], *, rules_digest: str, now: int) -> int:
    """Keep the verdicts on jobs that still hold what was judged, and mark the jobs. Returns how many were kept.

    A job whose row somebody holds is left out: a push changes it, and will have it judged again. To wait for that push here would be to
    wait for each other, as it in turn waits for the row of this work.
    """
    by_id = {verdict.job_id: verdict for verdict in found}
    mine = (jobs.c.workspace_id == workspace_id, jobs.c.job_id.in_(list(by_id)))
    rows = connection.execute(select(jobs.c.job_id, jobs.c.fingerprint).where(*mine).with_for_update(skip_locked=True)).all()
    kept = [by_id[row.job_id] for row in rows if by_id[row.job_id].fingerprint == row.fingerprint]
    if kept:
        _mark(connection, workspace_id, kept)
        _replace(connection, workspace_id, kept, rules_digest=rules_digest, now=now)
        seen = [verdict.observation for verdict in kept if verdict.observation is not None]
        observations.replace(connection, workspace_id, seen, now=now)
    return len(kept)


def _mark(connection: Connection, workspace_id: str, kept: list[NewVerdict]) -> None:
    names = ("fail_reason", "sub_fail_reason", "reward_valid", "outcome")
    query = update(jobs).where(jobs.c.workspace_id == workspace_id, jobs.c.job_id == bindparam("b_job_id"))
    rows = [
        {"b_job_id": verdict.job_id, **{f"b_{name}": getattr(verdict, name) for name in names}} for verdict in kept if verdict.error is None
    ]
    if rows:
        connection.execute(query.values({name: bindparam(f"b_{name}") for name in names}), rows)


def _replace(connection: Connection, workspace_id: str, kept: list[NewVerdict], *, rules_digest: str, now: int) -> None:
    connection.execute(
        delete(verdicts).where(verdicts.c.workspace_id == workspace_id, verdicts.c.job_id.in_([verdict.job_id for verdict in kept]))
    )
    same = {"workspace_id": workspace_id, "rules_digest": rules_digest, "stale": False, "judged_at": now}
    names = ("job_id", "fingerprint", "context", "error", "tier")
    connection.execute(insert(verdicts), [{**same, **{name: getattr(verdict, name) for name in names}} for verdict in kept])
    texts = [
        {"workspace_id": workspace_id, "job_id": verdict.job_id, "kept": verdict.kept, "shown": verdict.shown}
        for verdict in kept
        if verdict.error is None
    ]
    if texts:
        connection.execute(insert(verdict_texts), texts)


def counted(connection: Connection, workspace_id: str, group_id: str, *, after: tuple[int, str] | None) -> Sequence[Row[Any]]:
    """(created_at, job_id, kept) of the next jobs with a verdict on what they hold now, in the order of the job list."""
    joined = jobs.join(verdicts, _SAME_JOB).join(verdict_texts, _SAME_TEXTS)
    columns: list[Any] = [jobs.c.created_at, jobs.c.job_id, verdict_texts.c.kept]
    query = select(*columns).select_from(joined).where(*_of_group(workspace_id, group_id), _FITS)
    if after is not None:
        created_at, job_id = after
        later = or_(jobs.c.created_at > created_at, and_(jobs.c.created_at == created_at, jobs.c.job_id > job_id))
        query = query.where(later, jobs.c.created_at >= created_at)
    return connection.execute(query.order_by(jobs.c.created_at, jobs.c.job_id).limit(_PAGE)).all()


def group(connection: Connection, workspace_id: str, group_id: str) -> Row[Any] | None:
    """(name, benchmark, expected, present) of the group; None where it is gone."""
    mine = (groups.c.workspace_id == workspace_id, groups.c.group_id == group_id)
    present = select(func.count()).select_from(jobs).where(*_of_group(workspace_id, group_id)).scalar_subquery().label("present")
    name = func.coalesce(groups.c.given_name, groups.c.name).label("name")
    columns: list[Any] = [name, groups.c.benchmark, groups.c.expected, present]
    return connection.execute(select(*columns).where(*mine)).one_or_none()


def keep_report(connection: Connection, workspace_id: str, group_id: str, *, shown: bytes, rules_digest: str, now: int) -> None:
    """Keep the report of the group; nothing for a group that is gone."""
    mine = (group_reports.c.workspace_id == workspace_id, group_reports.c.group_id == group_id)
    connection.execute(update(group_reports).where(*mine).values(shown=shown, rules_digest=rules_digest, made_at=now))


def end_requests(connection: Connection, workspace_id: str, group_id: str, *, failed: bool) -> None:
    """What somebody asked for about the group and its jobs is done, or has failed and may be asked for again."""
    mine = (analysis_requests.c.workspace_id == workspace_id, analysis_requests.c.group_id == group_id)
    values: dict[str, Any] = {"state": "failed", "live_key": None} if failed else {"state": "done"}
    connection.execute(update(analysis_requests).where(*mine, analysis_requests.c.state == "pending").values(values))


# ---- reading ------------------------------------------------------------------------------------------------------------------------


def of_job(connection: Connection, workspace_id: str, job_id: str) -> Row[Any] | None:
    """(stale, judged_at, error, rules_digest, shown) of the verdict on what the job holds now."""
    joined = jobs.join(verdicts, _SAME_JOB).outerjoin(verdict_texts, _SAME_TEXTS)
    columns: list[Any] = [verdicts.c.stale, verdicts.c.judged_at, verdicts.c.error, verdicts.c.rules_digest, verdict_texts.c.shown]
    mine = (jobs.c.workspace_id == workspace_id, jobs.c.job_id == job_id, _FITS)
    return connection.execute(select(*columns).select_from(joined).where(*mine)).one_or_none()


def of_group(connection: Connection, workspace_id: str, group_id: str) -> Row[Any] | None:
    """(made_at, rules_digest, shown) of the group's report; nulls before there is one."""
    mine = (group_reports.c.workspace_id == workspace_id, group_reports.c.group_id == group_id)
    columns: list[Any] = [group_reports.c.made_at, group_reports.c.rules_digest, group_reports.c.shown]
    return connection.execute(select(*columns).where(*mine)).one_or_none()


# ---- a judge ------------------------------------------------------------------------------------------------------------------------


def count_unsure(connection: Connection, workspace_id: str, group_id: str, *, judge_digest: str) -> int:
    """Jobs of the group with a verdict that the rules are not sure of, about which this judge was not asked."""
    query = select(func.count()).select_from(jobs.join(verdicts, _SAME_JOB)).where(*_of_group(workspace_id, group_id))
    return connection.execute(query.where(*_unsure(judge_digest))).scalar_one()


def page_unsure(
    connection: Connection, workspace_id: str, group_id: str, *, judge_digest: str, after: tuple[str, str] | None, limit: int
) -> Sequence[Row[Any]]:
    """The next of those jobs, by task and id."""
    query = _jobs().where(*_of_group(workspace_id, group_id), *_unsure(judge_digest))
    if after is not None:
        query = query.where(tuple_(jobs.c.task_id, jobs.c.job_id) > tuple_(*map(literal, after)))
    return connection.execute(query.order_by(jobs.c.task_id, jobs.c.job_id).limit(limit)).all()


def _unsure(judge_digest: str) -> tuple[ColumnElement[bool], ...]:
    """What `benchloop_analysis.judge.may_ask` says, as far as rows tell."""
    return (
        _FITS,
        ~verdicts.c.stale,
        verdicts.c.error.is_(None),
        or_(verdicts.c.tier.is_(None), verdicts.c.tier.in_(("C", "D"))),
        jobs.c.fail_reason.in_(ASKED_ABOUT),
        jobs.c.reward_valid.is_not(False),
        jobs.c.trajectory_sha256.is_not(None),
        or_(verdicts.c.judge_digest.is_(None), verdicts.c.judge_digest != judge_digest),
    )


def keep_opinions(connection: Connection, workspace_id: str, found: Iterable[NewVerdict], *, judge_digest: str, now: int) -> int:
    """Mark jobs as asked about, and keep the verdicts of those with an opinion (which hold texts), where the job and its verdict are still
    the ones that were asked about. Returns how many there were.
    """
    by_id = {verdict.job_id: verdict for verdict in found}
    mine = (jobs.c.workspace_id == workspace_id, jobs.c.job_id.in_(list(by_id)), _FITS, ~verdicts.c.stale)
    query = select(jobs.c.job_id, jobs.c.fingerprint, verdicts.c.context).select_from(jobs.join(verdicts, _SAME_JOB)).where(*mine)
    rows = connection.execute(query.with_for_update(skip_locked=True)).all()
    kept = [
        by_id[row.job_id] for row in rows if (by_id[row.job_id].fingerprint, by_id[row.job_id].context) == (row.fingerprint, row.context)
    ]
    told = [verdict for verdict in kept if verdict.shown]
    these = (verdicts.c.workspace_id == workspace_id, verdicts.c.job_id.in_([verdict.job_id for verdict in kept]))
    connection.execute(update(verdicts).where(*these).values(judge_digest=judge_digest))
    if told:
        _mark(connection, workspace_id, told)
        for verdict in told:
            place = (verdict_texts.c.workspace_id == workspace_id, verdict_texts.c.job_id == verdict.job_id)
            connection.execute(update(verdict_texts).where(*place).values(kept=verdict.kept, shown=verdict.shown))
            same = (verdicts.c.workspace_id == workspace_id, verdicts.c.job_id == verdict.job_id)
            connection.execute(update(verdicts).where(*same).values(tier=verdict.tier, judged_at=now))
    return len(kept)


def report_is_older(connection: Connection, workspace_id: str, group_id: str) -> bool:
    """Whether any verdict of the group is newer than its report."""
    query = select(func.max(verdicts.c.judged_at)).select_from(jobs.join(verdicts, _SAME_JOB)).where(*_of_group(workspace_id, group_id))
    newest = connection.execute(query).scalar_one()
    row = of_group(connection, workspace_id, group_id)
    return newest is not None and (row is None or row.made_at is None or row.made_at <= newest)


def answer(connection: Connection, workspace_id: str, question_key: str) -> Row[Any] | None:
    """(text, prompt_tokens, completion_tokens, cost_usd) of an answer to this question, whichever job it was asked about."""
    names = ("text", "prompt_tokens", "completion_tokens", "cost_usd")
    mine = (judge_answers.c.workspace_id == workspace_id, judge_answers.c.question_key == question_key)
    return connection.execute(select(*(judge_answers.c[name] for name in names)).where(*mine).limit(1)).first()


def keep_answer(connection: Connection, values: dict[str, Any]) -> None:
    """Keep an answer (a row of `judge_answers`), unless it is there or its job is gone."""
    mine = (jobs.c.workspace_id == values["workspace_id"], jobs.c.job_id == values["job_id"])
    if connection.execute(select(jobs.c.job_id).where(*mine).with_for_update(key_share=True)).first() is not None:
        connection.execute(_INSERT[connection.dialect.name](judge_answers).values(values).on_conflict_do_nothing())


def spend(connection: Connection, usd: float, *, cap: float | None = None) -> bool:
    """Add to what the judge cost, or (below 0) take back; False where that would pass the `cap`: nothing is added then."""
    total = judge_spending.c.spent_usd + usd
    query = update(judge_spending).where(judge_spending.c.id == 1, *([] if cap is None else [total <= cap]))
    return connection.execute(query.values(spent_usd=total)).rowcount == 1


def paid(connection: Connection, workspace_id: str, group_id: str) -> float:
    """What the answers about the verdicts of the group's jobs cost, in US dollars."""
    same = and_(judge_answers.c.workspace_id == jobs.c.workspace_id, judge_answers.c.job_id == jobs.c.job_id)
    mine = (*_of_group(workspace_id, group_id), ~judge_answers.c.question_key.startswith(BEHAVIOUR))
    query = select(func.sum(judge_answers.c.cost_usd)).select_from(jobs.join(judge_answers, same)).where(*mine)
    return connection.execute(query).scalar_one() or 0.0


def _of_group(workspace_id: str, group_id: str) -> tuple[ColumnElement[bool], ...]:
    return jobs.c.workspace_id == workspace_id, jobs.c.group_id == group_id
