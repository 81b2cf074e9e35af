"""The two numbers of each category: how well it is practised, and what failed attempts lose by it; a blend of them would hide both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchloop_analysis.brm.columns import Column, Options, Outcome
from benchloop_analysis.brm.records import CategoryScore, Interval, Pattern, Status
from benchloop_analysis.statistics import resample
from benchloop_analysis.statistics.strata import Floats, Strata, scores

_STRENGTH: tuple[Status, ...] = ("supported", "suggestive", "no_evidence", "insufficient", "not_applicable")


def category_scores(
    columns: Sequence[Column], patterns: Mapping[str, Pattern], left: Mapping[str, float], outcome: Outcome, options: Options
) -> tuple[CategoryScore, ...]:
    """A score for each category of the catalogue, in its order. `left`: what shrinkage leaves of each behaviour's effect."""
    names = dict.fromkeys(column.category for column in columns if column.kind == "catalogue")
    found = []
    for name in names:
        mine = [column for column in columns if column.category == name and column.behaviour.scored]
        practice, practice_ci = _practice(mine, outcome, options)
        impact, impact_ci = _impact(mine, left, outcome, options)
        found.append(
            CategoryScore(
                category=name,
                practice=practice,
                practice_ci=practice_ci,
                impact=impact,
                impact_ci=impact_ci,
                status=_strongest(patterns[column.behaviour.id].status for column in mine),
                n_behaviors=sum(patterns[column.behaviour.id].applicable_n > 0 for column in mine),
            )
        )
    return tuple(found)


def _strongest(found: Iterable[Status]) -> Status:
    return min(found, key=_STRENGTH.index, default="not_applicable")


def _practice(columns: Sequence[Column], outcome: Outcome, options: Options) -> tuple[float | None, Interval | None]:
    """The mean over behaviours of how far jobs keep to what is held to be good, where it applies; those without a prior say nothing."""
    judged = [column for column in columns if column.behaviour.prior and not np.isnan(column.values).all()]
    if not judged:
        return None, None
    table = outcome.table
    tasks = Strata.of(table.task)
    above, below = np.zeros((tasks.count, len(judged))), np.zeros((tasks.count, len(judged)))
    for place, column in enumerate(judged):
        there = ~np.isnan(column.values)
        shown = np.clip(np.where(there, column.values, 0.0).astype(np.float64), 0.0, 1.0)
        kept = shown if column.behaviour.prior > 0 else 1.0 - shown
        above[:, place] = tasks.sums(np.where(there, kept * table.weight, 0.0))
        below[:, place] = tasks.sums(np.where(there, table.weight, 0.0))
    value = 100 * float((above.sum(axis=0) / below.sum(axis=0)).mean())
    if tasks.count < 2:
        return value, None
    drawn = resample.ratios(above, below, resamples=options.resamples, seed=options.seed_for(f"practice {columns[0].category}"))
    some = ~np.isnan(drawn).all(axis=1)
    low, high = resample.percentiles(100 * np.nanmean(drawn[some], axis=1)[:, None], options.level)
    return value, Interval(low=float(low[0]), high=float(high[0]))


def _impact(
    columns: Sequence[Column], left: Mapping[str, float], outcome: Outcome, options: Options
) -> tuple[float | None, Interval | None]:
    """Σ shrunken effect × (prevalence in failed − in passed attempts, within the task); what restates the outcome does not count.

    Effect and prevalence are taken from different tasks, all pairs of them: from the same ones their product could never be above 0, and
    chance alone would look like a loss.
    """
    known = [column for column in columns if column.behaviour.id in left and column.behaviour.timing != "terminal"]
    used = [column for column in known if left[column.behaviour.id] > 0]
    if not used:
        return (0.0 if known else None), None
    parts = [_by_task(column, outcome) * left[column.behaviour.id] ** np.array([[1], [0], [0], [0]]) for column in used]
    stacked = np.stack(parts)  # behaviours × (gained, pairs, gap, pairs of the gap) × tasks
    tasks = stacked.shape[2]
    value = _crossed(stacked, np.ones((1, tasks))).item()
    if tasks < 2:
        return value, None
    seed = options.seed_for(f"impact {columns[0].category}")
    drawn = np.concatenate([_crossed(stacked, times) for times in resample.draws(tasks, resamples=options.resamples, seed=seed)])
    low, high = resample.percentiles(drawn[:, None], options.level)
    return value, Interval(low=float(low[0]), high=float(high[0]))


def _by_task(column: Column, outcome: Outcome) -> Floats:
    """Of each task: reward gained by who has more of the behaviour and the pairs behind it; the gap in the behaviour and its pairs."""
    table = outcome.table
    found = np.zeros((4, len(table.task_ids)))
    rows = outcome.rows(column.values)
    strata = Strata.of(rows.stratum)
    task, weight = rows.cluster[strata.one_of()], rows.weight[strata.one_of()]
    given = scores(rows.behaviour, strata)
    gap = strata.centred(rows.reward)
    worse = scores(-np.sign(np.where(np.abs(gap) > 1e-12, gap, 0.0)), strata)
    sums = (strata.sums(given.rows * rows.reward), given.pairs, strata.sums(worse.rows * rows.behaviour), worse.pairs)
    for place, values in enumerate(sums):
        found[place] = np.bincount(task, weights=values * weight, minlength=len(table.task_ids))
    return found


def _crossed(parts: Floats, times: Floats) -> Floats:
    """For each row of `times` (how often each task is taken): Σ over behaviours of effect × gap over pairs of different tasks."""
    gained, pairs, gap, gap_pairs = (parts[:, place, :] for place in range(4))
    above = (times @ gained.T) * (times @ gap.T) - times**2 @ (gained * gap).T
    below = (times @ pairs.T) * (times @ gap_pairs.T) - times**2 @ (pairs * gap_pairs).T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(below > 1e-12, above / below, 0.0).sum(axis=1))
