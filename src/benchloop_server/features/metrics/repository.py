"""The aggregates over jobs, each one statement over the rows that fit; what nobody recorded comes back as None or a count of 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import BigInteger, Connection, Float, Label, Row, Select, and_, case, cast, distinct, func, select
from sqlalchemy.sql import ColumnElement

from benchloop_client.contract.outcome import OUTCOMES
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.job_facts import TASK
from benchloop_server.sql.tables import job_rewards, jobs

_J = jobs.c
_MICROS = 1_000_000.0

#: Words of `contract.summaries`, as SQL.
_ENDED = _J.outcome.is_not(None)
_GRADED = _J.outcome.in_(("passed", "partial", "failed"))
_USABLE_REWARD = case((_GRADED, _J.reward))
DURATION_S: ColumnElement[Any] = case((_J.finished_at >= _J.started_at, cast(_J.finished_at - _J.started_at, Float) / _MICROS))

#: Columns over which `spread` is given, by name.
VALUES: dict[str, ColumnElement[Any]] = {
    "reward": _USABLE_REWARD,
    "duration_s": DURATION_S,
    "n_steps": _J.n_steps,
    "n_tool_calls": _J.n_tool_calls,
}
TOTALS: dict[str, ColumnElement[Any]] = {
    "input": _J.n_input_tokens,
    "cached": _J.n_cache_tokens,
    "output": _J.n_output_tokens,
    "cost_usd": _J.cost_usd,
}


def scope(principal: Principal, group_id: str | None) -> list[ColumnElement[bool]]:
    """The WHERE of every aggregate: the caller's workspace, and one group of it unless `group_id` is None."""
    mine = [_J.workspace_id == principal.workspace_id]
    return mine if group_id is None else [*mine, _J.group_id == group_id]


def totals(connection: Connection, where: list[ColumnElement[bool]]) -> Row[Any]:
    """One row with every count, spread and total of a slice."""
    return connection.execute(select(*_counts(), *_spreads(), *_totals(), *_contents()).where(*where)).one()


def by_step(connection: Connection, where: list[ColumnElement[bool]]) -> Sequence[Row[Any]]:
    """A row for each training step, in order; jobs without a step come last."""
    query = select(_J.step, *_counts(), *_spread("reward", VALUES["reward"])).where(*where).group_by(_J.step)
    return sorted(connection.execute(query).all(), key=lambda row: (row.step is None, row.step or 0))


def by_group(connection: Connection, principal: Principal, group_ids: Iterable[str]) -> Sequence[Row[Any]]:
    """A row for each training step of each of these groups: counts by outcome and validity, cost and tokens."""
    usable = _J.reward.is_not(None)
    counts = [
        func.count().label("present"),
        *(_where(_J.outcome == outcome, outcome) for outcome in OUTCOMES),
        _where(_J.outcome.is_(None), "unfinished"),
        _where(and_(usable, _J.reward_valid.is_(True)), "reward_valid"),
        _where(and_(usable, _J.reward_valid.is_(False)), "reward_invalid"),
        _where(and_(usable, _J.reward_valid.is_(None)), "reward_unknown"),
        _where(_J.reward.is_(None), "reward_missing"),
    ]
    tokens = _J.n_input_tokens + _J.n_output_tokens
    sums = [func.count(_J.cost_usd).label("cost_jobs"), func.sum(_J.cost_usd).label("cost_total")]
    sums += [func.count(tokens).label("token_jobs"), func.sum(tokens).label("token_total")]
    query = select(_J.group_id, _J.step, *counts, *sums).where(_J.workspace_id == principal.workspace_id, _J.group_id.in_(list(group_ids)))
    return connection.execute(query.group_by(_J.group_id, _J.step)).all()


def quantile(connection: Connection, where: list[ColumnElement[bool]], *, name: str, position: int) -> float | None:
    """The value at `position` (from 0) of the sorted values of `VALUES[name]`."""
    value = VALUES[name]
    query = select(value).where(*where, value.is_not(None)).order_by(value).limit(1).offset(position)
    found = connection.execute(query).scalar()
    return None if found is None else float(found)


def errors(connection: Connection, where: list[ColumnElement[bool]]) -> Sequence[Row[Any]]:
    """(error_type, jobs, graded), most frequent first."""
    count = func.count().label("jobs")
    query = select(_J.error_type, count, _where(_GRADED, "graded")).where(*where, _J.error_type.is_not(None)).group_by(_J.error_type)
    return connection.execute(query.order_by(count.desc(), _J.error_type)).all()


def fail_reasons(connection: Connection, where: list[ColumnElement[bool]]) -> Sequence[Row[Any]]:
    """(fail_reason, sub_fail_reason, jobs), most frequent first."""
    names: list[Any] = [_J.fail_reason, _J.sub_fail_reason]
    count: Any = func.count().label("jobs")
    query: Select[Any] = select(*[*names, count]).where(*where, _J.fail_reason.is_not(None)).group_by(*names)
    return connection.execute(query.order_by(count.desc(), *names)).all()


def rewards(connection: Connection, where: list[ColumnElement[bool]]) -> Sequence[Row[Any]]:
    """(reward_key, n, mean, min, max) over ended jobs whose reward is not known to be invalid."""
    same = and_(job_rewards.c.workspace_id == _J.workspace_id, job_rewards.c.job_id == _J.job_id)
    value = job_rewards.c.value
    columns = (func.count(value).label("n"), func.avg(value).label("mean"), func.min(value).label("min"), func.max(value).label("max"))
    query = select(job_rewards.c.reward_key, *columns).select_from(jobs.join(job_rewards, same))
    query = query.where(*where, _ENDED, _J.reward_valid.is_not(False)).group_by(job_rewards.c.reward_key)
    return connection.execute(query.order_by(job_rewards.c.reward_key)).all()


def attempt_counts(connection: Connection, where: list[ColumnElement[bool]]) -> Sequence[Row[Any]]:
    """(step, n, c, strata): how many (task, step) pairs have n attempts of which c passed."""
    attempts = _where(_GRADED | (_J.outcome == "errored"), "n")
    inner = select(_J.step, attempts, _where(_J.outcome == "passed", "c")).where(*where).group_by(_J.group_id, TASK, _J.step)
    strata = inner.subquery()
    query = select(strata.c.step, strata.c.n, strata.c.c, func.count().label("strata")).group_by(strata.c.step, strata.c.n, strata.c.c)
    return connection.execute(query).all()


def tasks(connection: Connection, where: list[ColumnElement[bool]], *, search: str | None, status: str | None) -> tuple[Select[Any], int]:
    """The query for the rows of all tasks that fit, ordered by task id, and how many there are."""
    query = select(TASK.label("task_id"), *_counts(), *_spread("reward", VALUES["reward"])).where(*where).group_by(TASK)
    if search:
        query = query.where(func.lower(_J.task_id).like(func.lower(_pattern(search)), escape="\\"))
    rows = query.subquery()
    derived = _task_status(rows.c)
    chosen = select(rows, derived.label("task_status")).order_by(rows.c.task_id)
    if status:
        chosen = chosen.where(derived == status)
    total = connection.execute(select(func.count()).select_from(chosen.subquery())).scalar_one()
    return chosen, total


def task_page(connection: Connection, query: Select[Any], *, skip: int, limit: int) -> Sequence[Row[Any]]:
    """A part of what `tasks` found."""
    return connection.execute(query.limit(limit).offset(skip)).all()


def task_steps(connection: Connection, where: list[ColumnElement[bool]], *, task_ids: Iterable[str]) -> dict[str, list[int]]:
    """Task id → its training steps in order."""
    found: dict[str, list[int]] = {}
    query = select(_J.task_id, _J.step).distinct().where(*where, _J.task_id.in_(list(task_ids)), _J.step.is_not(None))
    for task_id, step in connection.execute(query.order_by(_J.task_id, _J.step)):
        found.setdefault(task_id, []).append(step)
    return found


def run_metrics(connection: Connection, where: list[ColumnElement[bool]]) -> Row[Any]:
    """One row with the documented group metrics that can be recorded."""
    tool_error_rate = case((_J.n_tool_calls > 0, cast(_J.n_tool_errors, Float) / _J.n_tool_calls))
    output, llm_calls = _output_tokens(), _J.n_llm_calls
    per_turn = case((llm_calls > 0, cast(output, Float) / llm_calls))
    columns: list[Label[Any]] = [
        func.count().label("job_count"),
        func.avg(DURATION_S).label("avg_duration_s"),
        func.avg(_J.thinking_chars).label("avg_thinking_length"),
        func.avg(llm_calls).label("avg_api_call_count"),
        func.avg(_J.n_tool_calls).label("avg_tool_call_count"),
        func.sum(_J.n_tool_errors).label("total_tool_error_count"),
        func.avg(tool_error_rate).label("avg_tool_error_rate"),
        func.avg(_J.n_agent_steps).label("avg_num_turns"),
        func.count(output).label("tokenized_job_count"),
    ]
    token_values = {"tokenizer_output_total": output, "llm_calls": llm_calls}
    maxima = {"tokenizer_output_per_turn": per_turn, "tokenizer_context_peak": _J.context_peak}
    for name, value in (token_values | maxima).items():
        columns += [func.avg(value).label(f"avg_{name}"), func.max(value).label(f"max_{name}")]
    columns += [func.sum(value).label(f"total_{name}") for name, value in token_values.items()]
    return connection.execute(select(*columns).where(*where)).one()


def _output_tokens() -> ColumnElement[Any]:
    return func.coalesce(_J.trajectory_completion_tokens, _J.n_output_tokens)


def _where(condition: ColumnElement[bool], name: str) -> Label[Any]:
    return cast(func.coalesce(func.sum(case((condition, 1), else_=0)), 0), BigInteger).label(name)


def _counts() -> list[Label[Any]]:
    usable = _J.reward.is_not(None)
    return [
        func.count().label("present"),
        func.count(distinct(_J.task_id)).label("tasks"),
        func.count(distinct(_J.group_id)).label("groups"),
        *(_where(_J.status == status, f"status_{status}") for status in ("pending", "running", "completed", "cancelled")),
        *(_where(_J.outcome == outcome, outcome) for outcome in OUTCOMES),
        _where(_J.outcome.is_(None), "unfinished"),
        _where(and_(usable, _J.reward_valid.is_(True)), "reward_valid"),
        _where(and_(usable, _J.reward_valid.is_(False)), "reward_invalid"),
        _where(and_(usable, _J.reward_valid.is_(None)), "reward_unknown"),
        _where(_J.reward.is_(None), "reward_missing"),
    ]


def _spread(name: str, value: ColumnElement[Any]) -> list[Label[Any]]:
    return [function(value).label(f"{name}_{word}") for word, function in _SPREAD.items()]


_SPREAD: dict[str, Any] = {"n": func.count, "mean": func.avg, "min": func.min, "max": func.max}


def _spreads() -> list[Label[Any]]:
    return [column for name, value in VALUES.items() for column in _spread(name, value)]


def _totals() -> list[Label[Any]]:
    words: dict[str, Any] = {"jobs": func.count, "total": func.sum, "mean": func.avg}
    return [function(value).label(f"{name}_{word}") for name, value in TOTALS.items() for word, function in words.items()]


def _contents() -> list[Label[Any]]:
    return [func.count(_J.trajectory_bytes).label("with_trajectory"), func.count(_J.artifact_bytes).label("with_artifacts")]


def _pattern(search: str) -> str:
    escaped = search.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _task_status(counts: Any) -> ColumnElement[str]:
    ended = counts.present - counts.unfinished
    return case(
        (ended == 0, "unfinished"),
        (counts.passed == ended, "passed"),
        (counts.passed > 0, "mixed"),
        (counts.partial > 0, "partial"),
        (counts.failed > 0, "failed"),
        (counts.errored > 0, "errored"),
        else_="ungraded",
    )
