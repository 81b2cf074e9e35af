"""What a comparison needs of one side, summed by the database: a row a task, whatever the number of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, case, func, select

from benchloop_server.kit.conditions import Conditions
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.job_facts import TASK, fact, matching
from benchloop_server.sql.tables import jobs

_J = jobs.c


def tallies(connection: Connection, principal: Principal, conditions: Conditions) -> Sequence[Row[Any]]:
    """(task_id, jobs, attempts, passed, invalid, ungraded, unfinished, and of reward, tokens, cost: how many and their sum)."""
    usable = _J.reward_valid.is_not(False)
    tried = and_(_J.outcome.in_(("passed", "partial", "failed", "errored")), usable)
    graded = and_(_J.outcome.in_(("passed", "partial", "failed")), usable)
    counts = {
        "attempts": tried,
        "passed": and_(_J.outcome == "passed", usable),
        "invalid": and_(_J.outcome.is_not(None), _J.reward_valid.is_(False)),
        "ungraded": and_(_J.outcome == "ungraded", usable),
        "unfinished": _J.outcome.is_(None),
    }
    values = {"reward": case((graded, _J.reward)), "tokens": case((tried, fact("tokens"))), "cost_usd": case((tried, _J.cost_usd))}
    columns: list[Any] = [TASK.label("task_id"), func.count().label("jobs")]
    columns += [_number(condition).label(name) for name, condition in counts.items()]
    for name, value in values.items():
        columns += [func.count(value).label(f"{name}_n"), func.sum(value).label(f"{name}_total")]
    return connection.execute(select(*columns).where(*matching(principal, conditions)).group_by(TASK)).all()


def steps(connection: Connection, principal: Principal, conditions: Conditions) -> list[int]:
    """The training steps of the side's jobs."""
    query = select(_J.step).distinct().where(*matching(principal, conditions), _J.step.is_not(None)).order_by(_J.step)
    return [int(step) for step in connection.execute(query).scalars()]


def _number(condition: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.sum(case((condition, 1), else_=0))
