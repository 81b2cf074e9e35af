"""Training curves: each behaviour over the steps, on the tasks that every step has, because another mix of tasks is another mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchloop_analysis.brm.columns import Column, Options, Outcome
from benchloop_analysis.brm.records import Curve, CurvePoint, StepPoint, Steps
from benchloop_analysis.brm.shares import mean
from benchloop_analysis.brm.table import Table
from benchloop_analysis.statistics.multiple import benjamini_hochberg
from benchloop_analysis.statistics.strata import Bools, Floats, Ints, Strata
from benchloop_analysis.statistics.trend import trend


def steps_of(outcome: Outcome, columns: Sequence[Column], options: Options) -> Steps:
    """The curves of the catalogue; empty with fewer than two steps or no task that all of them have."""
    table = outcome.table
    steps = np.unique(table.step[table.step >= 0])
    if len(steps) < 2:
        return Steps()
    there = np.zeros((len(table.task_ids), len(steps)), dtype=np.bool_)
    known = table.step >= 0
    there[table.task[known], np.searchsorted(steps, table.step[known])] = True
    common = np.asarray(there.all(axis=1))
    points = tuple(_point(place, (steps, there, common), table) for place in range(len(steps)))
    if not common.any():
        return Steps(points=points)
    kept = known & common[table.task]
    curves = [
        _curve((column.behaviour.id, column.behaviour.name), column.values.astype(np.float64), kept, outcome, steps, options)
        for column in columns
        if column.kind == "catalogue" and column.behaviour.scored
    ]
    rewards = np.where(outcome.valid, outcome.reward, np.nan)
    return Steps(
        points=points,
        common_tasks=int(common.sum()),
        reward=_curve(("reward", "mean reward"), rewards, kept, outcome, steps, options),
        curves=_with_q(curves),
    )


def _point(place: int, grid: tuple[Ints, Bools, Bools], table: Table) -> StepPoint:
    steps, there, common = grid
    return StepPoint(
        step=int(steps[place]),
        jobs=int((table.step == steps[place]).sum()),
        tasks=int(there[:, place].sum()),
        common=int(common.sum()),
        mix_changed=place > 0 and bool((there[:, place] != there[:, place - 1]).any()),
    )


def _curve(named: tuple[str, str], values: Floats, kept: Bools, outcome: Outcome, steps: Ints, options: Options) -> Curve:
    table = outcome.table
    used = kept & ~np.isnan(values)
    points = []
    for step in steps:
        rows = used & (table.step == step)
        found = mean(values[rows], table.weight[rows], table.task[rows], options.comparing("").z)
        points.append(CurvePoint(step=int(step), n=found.n, value=found.value, low=found.low, high=found.high))
    same = Strata.of(table.task[used] * len(table.parts) + table.part[used])  # the same agent and model at the same task
    slope = trend(values[used], table.step[used].astype(np.float64), same) if used.any() else None
    return Curve(
        id=named[0],
        name=named[1],
        points=tuple(points),
        p=slope.p if slope is not None else None,
        per_step=slope.per_step if slope is not None else None,
    )


def _with_q(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    tested = [curve for curve in curves if curve.p is not None]
    qs = dict(zip((curve.id for curve in tested), benjamini_hochberg([curve.p for curve in tested if curve.p is not None]), strict=True))
    return tuple(
        Curve(id=curve.id, name=curve.name, points=curve.points, p=curve.p, q=qs.get(curve.id), per_step=curve.per_step) for curve in curves
    )
