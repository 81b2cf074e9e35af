"""Which jobs are meant, as SQL: conditions become a WHERE over the columns of jobs, and over what follows from several of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, literal, literal_column, or_

from benchloop_server.kit.conditions import Conditions, Holding, Range
from benchloop_server.kit.principal import Principal
from benchloop_server.sql.tables import jobs


def matching(principal: Principal, conditions: Conditions) -> list[ColumnElement[bool]]:
    """The WHERE of the job list: the caller's workspace and every condition."""
    return [jobs.c.workspace_id == principal.workspace_id, *(_fits(fact(name), value) for name, value in conditions.items())]


def fact(name: str) -> ColumnElement[Any]:
    """A column of jobs, or what follows from several: `tokens` (input and output), `duration` (microseconds), `name` (id and task)."""
    return _DERIVED[name] if name in _DERIVED else jobs.c[name]


_DERIVED: dict[str, ColumnElement[Any]] = {
    "tokens": jobs.c.n_input_tokens + jobs.c.n_output_tokens,
    "duration": case((jobs.c.finished_at >= jobs.c.started_at, jobs.c.finished_at - jobs.c.started_at)),
    "name": jobs.c.job_id.concat(literal("\n")).concat(jobs.c.task_id),
}


#: A task to group by. As the plain column it would have SQLite follow the index of tasks, and read every row whole for the rest.
TASK = jobs.c.task_id.concat(literal_column("''"))


def _fits(column: ColumnElement[Any], value: Any) -> ColumnElement[bool]:
    if isinstance(value, tuple):
        return or_(*_one_of(column, value))
    if isinstance(value, Range):
        return and_(column.is_not(None), *_ends(column, value))
    if isinstance(value, Holding):
        part = value.part.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return func.lower(column).like(f"%{part}%", escape="\\")
    return column.is_(value) if isinstance(value, bool) else column == value


def _one_of(column: ColumnElement[Any], values: tuple[Any, ...]) -> Iterator[ColumnElement[bool]]:
    plain = [value for value in values if value is not None and not isinstance(value, bool)]
    yield from (column.is_(value) for value in values if value is None or isinstance(value, bool))
    if plain or len(plain) == len(values):
        yield column.in_(plain)


def _ends(column: ColumnElement[Any], value: Range) -> Iterator[ColumnElement[bool]]:
    if value.low is not None:
        yield column >= value.low
    if value.high is not None:
        yield column <= value.high
