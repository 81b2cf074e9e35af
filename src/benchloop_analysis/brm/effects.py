"""Each behaviour compared with reward: within the task, pooled, early on, at equal length, and with invalid rewards counted as failures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchloop_analysis.brm.columns import Column, Options, Outcome
from benchloop_analysis.brm.records import Interval, Landmark, Pattern, Share, Spread, Status
from benchloop_analysis.brm.shares import Mean, mean
from benchloop_analysis.statistics.compare import Effect, Rows, adjusted, compare, differences, tables_of
from benchloop_analysis.statistics.homogeneity import homogeneity_p
from benchloop_analysis.statistics.strata import Bools, Floats, Strata, is_binary

#: Fewer strata with both outcomes and both values cannot tell anything.
FEWEST = 8
SUGGESTIVE = 0.05
_PARTS = 20


@dataclass(frozen=True)
class Context:
    """What all behaviours are compared in. `length` is the log of the number of steps, `better` as `Outcome.better` gives it."""

    outcome: Outcome
    options: Options
    landmark: int | None
    length: Floats
    better: Floats

    @classmethod
    def of(cls, outcome: Outcome, options: Options, landmark: int | None) -> Context:
        """The context of a table."""
        length = np.log(np.maximum(outcome.table.n_steps, 1).astype(np.float64))
        return cls(outcome, options, landmark, length, outcome.better())


def pattern(column: Column, context: Context) -> tuple[Pattern, Effect]:
    """What is found about one behaviour, with a status that does not know yet of the other tests."""
    behaviour, options = column.behaviour, context.options
    rows = context.outcome.rows(column.values)
    effect = compare(rows, options.comparing(behaviour.id))
    pooled = compare(rows.pooled(), options.comparing(f"pooled {behaviour.id}"))
    shown = _shown(column, context)
    found = Pattern(
        id=behaviour.id,
        name=behaviour.name,
        category=column.category,
        kind=column.kind,
        measure=behaviour.kind,
        timing=behaviour.timing,
        prior=behaviour.prior,
        scored=behaviour.scored,
        definition=behaviour.definition,
        applies=behaviour.applies,
        status=status(effect, len(rows.reward)),
        applicable_n=len(rows.reward),
        applicable_tasks=len(np.unique(rows.cluster)),
        prevalence=shown.value,
        prevalence_ci=_interval(shown.low, shown.high),
        prevalence_pass=_prevalence(column, context, 1.0),
        prevalence_fail=_prevalence(column, context, 0.0),
        within_task_rd=effect.value,
        rd_ci=_interval(effect.low, effect.high),
        odds_ratio=effect.odds_ratio.value if effect.odds_ratio is not None else None,
        odds_ratio_ci=_interval(effect.odds_ratio.low, effect.odds_ratio.high) if effect.odds_ratio is not None else None,
        p=effect.p,
        p_method=effect.p_method,
        cmh_p=effect.cmh_p,
        q=None,
        informative_tasks=effect.informative_clusters,
        informative_strata=effect.informative_strata,
        smallest_effect=effect.smallest,
        shrunk_rd=None,
        pooled_rd=pooled.value,
        pooled_ci=_interval(pooled.low, pooled.high),
        pooled_p=pooled.p,
        landmark=_landmark(column, context),
        spread=_spread(rows),
        length_adjusted_rd=_at_equal_length(column, context, rows),
        rd_if_invalid_failed=_with_invalid(column, context),
        parts=_parts(column, context),
        actions=column.actions,
    )
    return found, effect


def status(effect: Effect, applicable: int, q: float | None = None) -> Status:
    """Of one behaviour, with the q of its p where it was tested."""
    if not applicable:
        return "not_applicable"
    if effect.informative_strata < FEWEST or effect.p is None:
        return "insufficient"
    if q is not None and q <= 0.10:
        return "supported"
    return "suggestive" if effect.p < SUGGESTIVE else "no_evidence"


def _interval(low: float | None, high: float | None) -> Interval | None:
    return None if low is None and high is None else Interval(low=low, high=high)


def _shown(column: Column, context: Context) -> Mean:
    table = context.outcome.table
    kept = ~np.isnan(column.values)
    return mean(column.values[kept].astype(np.float64), table.weight[kept], table.task[kept], context.options.comparing("").z)


def _prevalence(column: Column, context: Context, outcome: float) -> float | None:
    return _weighted(column, context, context.better == outcome)[1]


def _weighted(column: Column, context: Context, which: Bools) -> tuple[int, float | None]:
    kept = which & ~np.isnan(column.values)
    weight = context.outcome.table.weight[kept]
    total = float(weight.sum())
    return int(kept.sum()), float((weight * column.values[kept]).sum()) / total if total > 0 else None


def _landmark(column: Column, context: Context) -> Landmark | None:
    """None for what can only be seen at the end, and where the runs are too short."""
    if column.landmark is None or context.landmark is None or column.behaviour.timing == "terminal":
        return None
    rows = context.outcome.rows(column.landmark, context.outcome.table.landmarks[context.landmark].rows)
    effect = compare(rows, context.options.comparing(f"landmark {column.behaviour.id}"))
    return Landmark(
        steps=context.landmark,
        jobs=len(rows.reward),
        informative_tasks=effect.informative_clusters,
        rd=effect.value,
        rd_ci=_interval(effect.low, effect.high),
        p=effect.p,
    )


def _spread(rows: Rows) -> Spread | None:
    """The effects of single tasks are noise by themselves: they are given where the tasks disagree more than chance."""
    if not len(rows.reward) or not (is_binary(rows.behaviour) and is_binary(rows.reward)):
        return None
    p = homogeneity_p(tables_of(rows, Strata.of(rows.stratum)))
    if p is None or p >= SUGGESTIVE:
        return Spread(p=p)
    low, median, high = np.percentile(differences(rows), [10, 50, 90])
    return Spread(p=p, low=float(low), median=float(median), high=float(high))


def _at_equal_length(column: Column, context: Context, rows: Rows) -> float | None:
    kept = context.outcome.valid & ~np.isnan(column.values)
    return adjusted(rows, context.length[kept]) if len(rows.reward) else None


def _with_invalid(column: Column, context: Context) -> float | None:
    """None where no reward is invalid."""
    if not context.outcome.table.invalid.any():
        return None
    return compare(context.outcome.rows_with_invalid(column.values), context.options.comparing(""), test=False).value


def _parts(column: Column, context: Context) -> tuple[Share, ...]:
    """By agent and model, the largest first, and by training step."""
    table = context.outcome.table
    found = []
    if len(table.parts) > 1:
        sizes = np.bincount(table.part, minlength=len(table.parts))
        for place in np.argsort(-sizes, kind="stable")[:_PARTS]:
            n, value = _weighted(column, context, table.part == place)
            found.append(Share(part="model", key=table.parts[place], n=n, value=value))
    steps = np.unique(table.step[table.step >= 0])
    if len(steps) > 1:
        for step in steps[:_PARTS]:
            n, value = _weighted(column, context, table.step == step)
            found.append(Share(part="step", key=str(step), n=n, value=value))
    return tuple(found)
