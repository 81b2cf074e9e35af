"""The model: ridge on behaviours less their task's mean, judged on tasks whose rewards it has not seen, silent where that tells nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchloop_analysis.brm.columns import Column, Options, Outcome
from benchloop_analysis.brm.records import CalibrationBin, Coefficient, Interval, JobScore, Model
from benchloop_analysis.statistics import quality, resample, ridge
from benchloop_analysis.statistics.strata import Bools, Floats, Ints, Strata

FOLDS = 5
#: Fewer tasks with unequal rewards are too few to fit on some and judge on others.
FEWEST_TASKS = 20
#: Refits on shuffled rewards, and on tasks drawn again for the intervals of coefficients.
SHUFFLES, REFITS = 200, 200
#: More job scores than these are not listed: those furthest from 0 are.
SCORES = 10_000
_BLOCK = 20

SILENT = (
    "Behaviours do not predict reward in this sample: with rewards of other tasks to learn from, the model does not order attempts at a "
    "task better than chance."
)


@dataclass(frozen=True)
class _Design:
    """Rows with a valid reward: behaviours standardised and less their stratum's mean, reward less its stratum's mean, fold of the task.

    `mixed` are the rows of strata with unequal rewards: the only ones that are fitted and ordered.
    """

    places: Ints
    columns: Floats
    reward: Floats
    strata: Strata
    task: Ints
    fold: Ints
    mixed: Bools
    weight: Floats

    def only_mixed(self) -> _Design:
        """The rows that count for fitting."""
        keep = self.mixed
        strata = Strata.of(self.strata.index[keep])
        parts = (self.task[keep], self.fold[keep], keep[keep], self.weight[keep])
        return _Design(self.places[keep], self.columns[keep], self.reward[keep], strata, *parts)


def fitted(columns: Sequence[Column], outcome: Outcome, options: Options) -> Model:
    """Fit and judge. Behaviours that restate the outcome, are shown only or never differ within a task are left out."""
    used, design = _design(columns, outcome, options)
    fitting = design.only_mixed()
    tasks = len(np.unique(fitting.task))
    if tasks < FEWEST_TASKS or not used:
        why = "no behaviour differs between attempts at a task" if tasks >= FEWEST_TASKS else f"{tasks} tasks have unequal rewards"
        return Model(predicts=False, says=f"There is no model: {why}; it takes {FEWEST_TASKS} such tasks.", tasks=tasks)
    rewards = fitting.strata.centred(fitting.reward)[:, None]
    folds = _folds(fitting)
    score = _crossfitted(folds, rewards, design)[:, 0]
    return _judged((used, folds), (design, fitting), score, outcome, options)


def _design(columns: Sequence[Column], outcome: Outcome, options: Options) -> tuple[list[Column], _Design]:
    table = outcome.table
    places = np.flatnonzero(outcome.valid)
    strata = Strata.of(table.stratum[places])
    used, made = [], []
    for column in columns:
        behaviour = column.behaviour
        if column.kind == "catalogue" and behaviour.scored and behaviour.timing != "terminal":
            centred = _standardised(column.values[places].astype(np.float64), strata)
            if centred is not None:
                used.append(column)
                made.append(centred)
    reward = outcome.reward[places]
    spread = strata.sums(strata.centred(reward) ** 2)
    order = np.random.default_rng(options.seed_for("folds")).permutation(len(table.task_ids))
    task = table.task[places]
    matrix = np.stack(made, axis=1) if made else np.zeros((len(places), 0))
    mixed = (spread > 1e-12)[strata.index]
    return used, _Design(places, matrix, reward, strata, task, order[task] % FOLDS, mixed, table.weight[places])


def _standardised(values: Floats, strata: Strata) -> Floats | None:
    """Less the mean of the stratum's applicable jobs, one standard deviation wide, 0 where it does not apply; None if nothing differs."""
    there = ~np.isnan(values)
    filled = np.where(there, values, 0.0)
    means = strata.sums(filled) / np.maximum(strata.sums(there.astype(np.float64)), 1)
    centred = np.where(there, filled - means[strata.index], 0.0)
    wide = float(np.sqrt((centred**2).mean())) if len(centred) else 0.0
    return centred / wide if wide > 1e-9 else None


def _folds(fitting: _Design) -> list[tuple[Bools, ridge.Columns]]:
    """For each fold the rows of the others, made ready to be fitted."""
    found = []
    for fold in range(FOLDS):
        train = fitting.fold != fold
        found.append((train, ridge.Columns.of(fitting.columns[train], lost=len(np.unique(fitting.strata.index[train])))))
    return found


def _crossfitted(folds: Sequence[tuple[Bools, ridge.Columns]], rewards: Floats, scored: _Design) -> Floats:
    """Predicted reward less the stratum's mean of each row of `scored`, for each column of rewards, fitted on the other folds."""
    found = np.zeros((len(scored.places), rewards.shape[1]))
    for fold, (train, columns) in enumerate(folds):
        judged = scored.fold == fold
        found[judged] = scored.columns[judged] @ ridge.fit(columns, rewards[train]).coefficients
    return found


def _judged(
    made: tuple[Sequence[Column], Sequence[tuple[Bools, ridge.Columns]]],
    designs: tuple[_Design, _Design],
    score: Floats,
    outcome: Outcome,
    options: Options,
) -> Model:
    used, folds = made
    design, fitting = designs
    on = score[design.mixed]
    pairs = quality.ordered_pairs(on, fitting.reward, fitting.strata)
    auc = pairs.auc or 0.5
    shuffled = _shuffled(fitting, folds, options)
    interval = _widened(_over_tasks(pairs.right, pairs.all, fitting, options, "auc"), auc, float(shuffled.std()), options)
    predicts = interval is not None and interval.low is not None and interval.low > 0.5
    calibrated = _calibration(on, fitting, outcome)
    choice = quality.best_of_n(score, design.reward, design.strata)
    several = design.strata.sizes > 1
    weights = np.where(several, design.weight[design.strata.one_of()], 0.0)
    scores, left_out = _scores(score, design, outcome) if predicts else ((), 0)
    return Model(
        predicts=predicts,
        says=_says(auc, interval) if predicts else SILENT,
        auc=auc,
        auc_ci=interval,
        pairs=int(pairs.all.sum()),
        tasks=len(np.unique(fitting.task)),
        null_auc=float(shuffled.mean()),
        null_high=float(np.quantile(shuffled, 0.95)),
        p=float((1 + (shuffled >= auc).sum()) / (1 + len(shuffled))),
        ece=calibrated[0].ece if calibrated else None,
        brier=calibrated[0].brier if calibrated else None,
        brier_baseline=calibrated[1] if calibrated else None,
        calibration=tuple(CalibrationBin(n=n, predicted=said, observed=seen) for n, said, seen in calibrated[0].bins) if calibrated else (),
        best_of_n_gain=_mean(choice.gained, weights),
        best_of_n_ci=_over_tasks(choice.gained * weights, weights, design, options, "best of n"),
        best_possible_gain=_mean(choice.possible, weights),
        **_coefficients(used, fitting, options),  # type: ignore[arg-type]
        job_scores=scores,
        job_scores_left_out=left_out,
    )


def _says(auc: float, interval: Interval | None) -> str:
    span = f" (95 % interval {interval.low:.2f} to {interval.high:.2f})" if interval is not None else ""
    return (
        f"Of two attempts at the same task, one better than the other, the model names the better one in {100 * auc:.0f} %{span}; "
        "0.50 would be chance. It says what goes together within a task, not what causes what."
    )


def _over_tasks(above: Floats, below: Floats, design: _Design, options: Options, name: str) -> Interval | None:
    """The interval of Σ above ÷ Σ below, both by stratum, over tasks drawn again."""
    tasks = Strata.of(design.task[design.strata.one_of()])
    if tasks.count < 2:
        return None
    sums = (tasks.sums(above)[:, None], tasks.sums(below)[:, None])
    low, high = resample.percentiles(resample.ratios(*sums, resamples=options.resamples, seed=options.seed_for(name)), options.level)
    return None if np.isnan(low[0]) else Interval(low=float(low[0]), high=float(high[0]))


def _widened(interval: Interval | None, auc: float, spread: float, options: Options) -> Interval | None:
    """The interval, at least as wide as what shuffled rewards show: drawing tasks again does not fit again, and so sees too little."""
    if interval is None or interval.low is None or interval.high is None:
        return interval
    least = 2 * options.comparing("").z * spread
    wider = max(1.0, least / max(1e-9, interval.high - interval.low))
    low, high = (auc + wider * (end - auc) for end in (interval.low, interval.high))
    return Interval(low=max(0.0, low), high=min(1.0, high))


def _mean(values: Floats, weights: Floats) -> float | None:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else None


def _shuffled(fitting: _Design, folds: Sequence[tuple[Bools, ridge.Columns]], options: Options) -> Floats:
    """How well the same procedure does where rewards are shuffled within strata."""
    random = np.random.default_rng(options.seed_for("shuffles"))
    order = np.argsort(fitting.strata.index, kind="stable")
    index = fitting.strata.index[order]
    found = []
    for _ in range(0, SHUFFLES, _BLOCK):
        rewards = np.empty((len(order), _BLOCK))
        for place in range(_BLOCK):
            rewards[order, place] = fitting.reward[order][np.argsort(random.random(len(order)) + index)]
        centred = np.stack([fitting.strata.centred(rewards[:, place]) for place in range(_BLOCK)], axis=1)
        scores = _crossfitted(folds, centred, fitting)
        found += [quality.ordered_pairs(scores[:, place], rewards[:, place], fitting.strata).auc or 0.5 for place in range(_BLOCK)]
    return np.asarray(found)


def _calibration(score: Floats, fitting: _Design, outcome: Outcome) -> tuple[quality.Calibration, float] | None:
    """Of the chance to pass given how many in the stratum did, which is right without a model too; and the Brier score of that alone."""
    if not outcome.binary:
        return None
    known = fitting.strata.means(fitting.reward)[fitting.strata.index]
    found = quality.calibration(np.clip(known + score, 0.0, 1.0), fitting.reward)
    return None if found is None else (found, float(((known - fitting.reward) ** 2).mean()))


def _coefficients(used: Sequence[Column], fitting: _Design, options: Options) -> dict[str, float | tuple[Coefficient, ...]]:
    rewards = fitting.strata.centred(fitting.reward)[:, None]
    whole = ridge.fit(ridge.Columns.of(fitting.columns, lost=fitting.strata.count), rewards)
    values = whole.coefficients[:, 0]
    drawn = _refits(fitting, rewards, float(whole.penalty[0]), options)
    low, high = resample.percentiles(drawn, options.level)
    found = [
        Coefficient(
            id=column.behaviour.id,
            name=column.behaviour.name,
            value=float(values[place]),
            ci=Interval(low=float(low[place]), high=float(high[place])),
            sign_stability=float((np.sign(drawn[:, place]) == np.sign(values[place])).mean()),
        )
        for place, column in enumerate(used)
    ]
    ranked = tuple(sorted(found, key=lambda one: (-abs(one.value), one.id)))
    return {"penalty": float(whole.penalty[0]), "coefficients": ranked}


def _refits(fitting: _Design, rewards: Floats, penalty: float, options: Options) -> Floats:
    tasks = Strata.of(fitting.task)
    freedom = len(rewards) - fitting.strata.count
    ridged = penalty * max(1, freedom) * np.eye(fitting.columns.shape[1])
    found = []
    for block in resample.draws(tasks.count, resamples=REFITS, seed=options.seed_for("refits")):
        for times in block:
            weighted = fitting.columns * times[tasks.index][:, None]
            found.append(np.linalg.solve(weighted.T @ fitting.columns + ridged, weighted.T @ rewards)[:, 0])
    return np.stack(found)


def _scores(score: Floats, design: _Design, outcome: Outcome) -> tuple[tuple[JobScore, ...], int]:
    """In the order of the jobs; of very many, those furthest from 0."""
    scaled = np.clip(score / (outcome.most or 1.0), -1.0, 1.0)
    kept = np.arange(len(scaled))
    if len(kept) > SCORES:
        kept = np.sort(np.argsort(-np.abs(scaled), kind="stable")[:SCORES])
    ids = outcome.table.job_ids
    return tuple(JobScore(job=ids[design.places[place]], score=float(scaled[place])) for place in kept), len(scaled) - len(kept)
