"""The study: every behaviour compared within the task, rows of actions mined and confirmed, the model, the training curves, the summary.

    table = builder.build()
    result = study(table, Options(scoring_limit=32, seed=seed_of("G1"), samples=sample.records))
    result = with_examples(result, {(pattern, job): steps for pattern, job in wanted_examples(result)})

The same table and options give the same result, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from benchloop_analysis.brm.amounts import amounts
from benchloop_analysis.brm.categories import category_scores
from benchloop_analysis.brm.columns import PERMUTATIONS, RESAMPLES, Column, Options, Outcome, catalogue_columns, landmark_of
from benchloop_analysis.brm.effects import FEWEST, Context, pattern, status
from benchloop_analysis.brm.examples import examples
from benchloop_analysis.brm.mining import Mined, mine
from benchloop_analysis.brm.model import fitted
from benchloop_analysis.brm.ranking import listed
from benchloop_analysis.brm.records import Example, Pattern, Provenance, Steps, Study
from benchloop_analysis.brm.summary import summarised
from benchloop_analysis.brm.summary_markdown import study_markdown
from benchloop_analysis.brm.table import Table
from benchloop_analysis.brm.trends import steps_of
from benchloop_analysis.statistics.compare import Effect
from benchloop_analysis.statistics.multiple import benjamini_hochberg, shrinkage
from benchloop_client.contract.version import __version__

__all__ = ["PERMUTATIONS", "RESAMPLES", "Options", "study", "wanted_examples", "with_examples"]

#: Parts of the work beside the behaviours: mining, model, curves, categories and summary.
_OTHERS = 4
METHODS = {
    "Effect": "Mantel–Haenszel risk difference over task × agent × model × step; Somers' D within the task for ratios",
    "Interval": "score interval from Sato's variance (Klingenberg 2014), widened by what tasks differ beyond chance; for ratios and "
    "rewards that are no pass or fail, from the differences between tasks",
    "Odds ratio": "Mantel–Haenszel, interval of Robins, Breslow and Greenland; where a cell is empty, exact mid-p",
    "Spread": "Liang and Self's test of equal odds ratios, which holds for tasks with few attempts",
    "p": "two-sided mid-p given all margins: exact for yes and no; else by shuffling rewards within the task, and beyond 2,000 jobs "
    "from mean and variance of all shuffles",
    "q": "Benjamini–Hochberg over what could be tested, catalogue, amounts and mined patterns each by themselves",
    "Mined patterns": "found on half of the tasks, tested on the other half",
    "Shrinkage": "empirical Bayes towards 0",
    "Model": "ridge on behaviours less the task's mean, 5 folds of tasks; interval by bootstrap over tasks",
    "Trend": "Cochran–Armitage stratified by task",
}

Progress = Callable[[int, int], None]


def study(table: Table, options: Options, *, progress: Progress | None = None) -> Study:
    """All of it. `progress` is told (parts done, parts in all); what it raises ends the study."""
    outcome = Outcome.of(table)
    landmark = landmark_of(table)
    context = Context.of(outcome, options, landmark)
    columns = catalogue_columns(table, landmark)
    mined = mine(outcome, options)
    columns = [*columns, *amounts(table), *mined.columns]
    tell = _Teller(progress, len(columns) + _OTHERS)
    tell.step()
    found = []
    for column in columns:
        found.append(pattern(column, context))
        tell.step()
    steps = steps_of(outcome, columns, options)
    patterns, left = _weighed(found, columns, steps)
    tell.step()
    model = fitted(columns, outcome, options)
    tell.step()
    by_id = {one.id: one for one in patterns}
    result = Study(
        summary=summarised(outcome, patterns, steps, mined, options),
        category_scores=category_scores(columns, by_id, left, outcome, options),
        behavior_patterns=_illustrated(listed(patterns, columns, options.scoring_limit), columns, context),
        patterns_total=len(patterns),
        model=model,
        steps=steps,
        provenance=_provenance(table, options, mined),
    )
    tell.step()
    return msgspec.structs.replace(result, summary=msgspec.structs.replace(result.summary, markdown=study_markdown(result)))


class _Teller:
    """Counts parts that are done."""

    def __init__(self, told: Progress | None, parts: int) -> None:
        self._told, self._parts, self._done = told, parts, 0

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._told is not None:
            self._told(self._done, self._parts)


def _weighed(found: Sequence[tuple[Pattern, Effect]], columns: Sequence[Column], steps: Steps) -> tuple[list[Pattern], dict[str, float]]:
    """The patterns with q, status and shrunken effect, and what shrinkage leaves of each effect."""
    left: dict[str, float] = {}
    qs: dict[str, float] = {}
    for kind in ("catalogue", "amount", "mined"):
        some = [(one, effect) for (one, effect), column in zip(found, columns, strict=True) if column.kind == kind and one.scored]
        testable = [one for one, effect in some if effect.informative_strata >= FEWEST and effect.p is not None]
        qs.update(zip((one.id for one in testable), benjamini_hochberg([one.p for one in testable if one.p is not None]), strict=True))
        effects = np.array([np.nan if effect.value is None else effect.value for _, effect in some])
        errors = np.array([np.nan if effect.error is None or one.id not in qs else effect.error for one, effect in some])
        kept = shrinkage(effects, errors)
        left.update({one.id: float(part) for (one, _), part in zip(some, kept, strict=True) if np.isfinite(part)})
    curves = {curve.id: curve for curve in steps.curves}
    patterns = []
    for one, effect in found:
        curve = curves.get(one.id)
        patterns.append(
            msgspec.structs.replace(
                one,
                q=qs.get(one.id),
                status=status(effect, one.applicable_n, qs.get(one.id)),
                shrunk_rd=None if effect.value is None or one.id not in left else effect.value * left[one.id],
                trend_p=curve.p if curve is not None else None,
                trend_q=curve.q if curve is not None else None,
                trend_per_step=curve.per_step if curve is not None else None,
            )
        )
    return patterns, left


def _illustrated(patterns: Sequence[Pattern], columns: Sequence[Column], context: Context) -> tuple[Pattern, ...]:
    by_id = {column.behaviour.id: column for column in columns}
    shown = []
    for one in patterns:
        with_it, without = examples(by_id[one.id], context)
        shown.append(msgspec.structs.replace(one, examples=with_it, counter_examples=without))
    return tuple(shown)


def _provenance(table: Table, options: Options, mined: Mined) -> Provenance:
    return Provenance(
        benchloop=__version__,
        catalogue_version=table.catalogue_version,
        seed=options.seed,
        level=options.level,
        scoring_limit=options.scoring_limit,
        permutations=options.permutations,
        resamples=options.resamples,
        samples=options.samples,
        methods=METHODS,
        mined_on_tasks=mined.found_on,
        mined_tested_on_tasks=mined.tested_on,
        mined_candidates=mined.looked_at,
    )


def wanted_examples(found: Study) -> list[tuple[str, str]]:
    """(pattern, job) of each example that is worth its steps; counter-examples do not show it and have none."""
    return [(one.id, example.job) for one in found.behavior_patterns for example in one.examples]


def with_examples(found: Study, steps: Mapping[tuple[str, str], Sequence[int]]) -> Study:
    """The study with the steps that show each behaviour in its examples; those not given stay without."""
    patterns = tuple(
        msgspec.structs.replace(one, examples=tuple(_with_steps(one.id, example, steps) for example in one.examples))
        for one in found.behavior_patterns
    )
    return msgspec.structs.replace(found, behavior_patterns=patterns)


def _with_steps(pattern_id: str, example: Example, steps: Mapping[tuple[str, str], Sequence[int]]) -> Example:
    given = steps.get((pattern_id, example.job))
    return example if given is None else msgspec.structs.replace(example, steps=tuple(given))
