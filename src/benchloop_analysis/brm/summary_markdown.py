"""The summary of a study as Markdown that somebody who never saw one understands: what was compared, what was found, what was not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchloop_analysis import words
from benchloop_analysis.brm.effects import FEWEST
from benchloop_analysis.brm.records import CategoryScore, Interval, Model, Pattern, Provenance, Study, Summary
from benchloop_analysis.markdown import bullets, cell, code, inline, joined, table

_ROWS = 16
STATUSES = {
    "supported": "holds after allowing for the number of tests (q ≤ 0.10)",
    "suggestive": "p < 0.05 by itself, but that many tests give some such by chance",
    "no_evidence": "could be tested; no difference was seen",
    "insufficient": f"fewer than {FEWEST} tasks had attempts that differ both in it and in reward: nothing can be said",
    "not_applicable": "nothing to compare",
}


def study_markdown(study: Study) -> str:
    """The summary. Its first line is the headline."""
    summary = study.summary
    return joined(
        [
            f"**{inline(summary.headline)}**",
            "# Which behaviour goes with reward",
            inline(summary.sentence),
            "## What was compared",
            bullets(_compared(summary)),
            "## What could have been seen",
            bullets(_seen(study)),
            bullets(f"**Note:** {inline(warning)}" for warning in summary.warnings),
            *_patterns(study),
            *_model(study.model, summary),
            *_categories(study.category_scores, summary),
            *_steps(study),
            "## How to read this",
            bullets(_reading(study.provenance, summary)),
        ]
    )


def _compared(summary: Summary) -> Iterator[str]:
    what = "passed and failed" if summary.outcome == "pass_fail" else "better and worse"
    yield (
        f"Attempts at the same task by the same agent and model (and of the same training step), {what}: a hard task makes behaviour and "
        "reward alike, so different tasks are never compared with each other."
    )
    yield (
        f"{words.counted(summary.n, 'job')} of {words.counted(summary.tasks, 'task')}; {summary.valid_n:,} have a reward that means "
        f"something{f', {summary.invalid_n:,} an invalid one' if summary.invalid_n else ''}"
        f"{f', {summary.missing_n:,} none' if summary.missing_n else ''}."
    )
    yield (
        f"{summary.mixed_tasks:,} of the {words.counted(summary.tasks, 'task')} have attempts with unequal rewards. Only these carry "
        f"information: {words.counted(summary.informative_jobs, 'job')}."
    )
    if summary.mean_reward is not None:
        also = ""
        if summary.invalid_n and summary.mean_reward_if_invalid_failed is not None:
            also = f" ({summary.mean_reward_if_invalid_failed:.3f} if invalid rewards counted as failures)"
        yield f"Mean reward {summary.mean_reward:.3f}{also}."


def _seen(study: Study) -> Iterator[str]:
    summary = study.summary
    if summary.smallest_effect is None:
        yield "Nothing: no task has attempts with unequal rewards."
        return
    odds = f", an odds ratio of {summary.smallest_odds_ratio:.1f}" if summary.smallest_odds_ratio is not None else ""
    size = _size(summary.smallest_effect, summary)
    yield (
        f"With 80 % power at p < 0.05, a behaviour that half of the attempts at each task show must go with {size} of reward{odds} "
        "to be seen here. Rarer behaviours must do more; smaller effects may be there unseen."
    )
    counts = summary.counts
    yield (
        f"Of the behaviours, amounts and rows of actions that were looked at, {counts.tested:,} could be tested; for "
        f"{counts.insufficient:,} fewer than {FEWEST} tasks could tell, "
        f"and {counts.not_applicable:,} never applied. That is usual, and no fault of theirs."
    )


def _patterns(study: Study) -> Iterator[str]:
    if not study.behavior_patterns:
        return
    yield "## Behaviours"
    summary = study.summary
    heads = ("Behaviour", "Shown by", "Within the task", "95 % interval", "q", "Tasks", "Status", "Pooled")
    level = round(100 * study.provenance.level)
    heads = tuple(head.replace("95", str(level)) for head in heads)  # type: ignore[assignment]
    yield table(heads, (_row(one, summary) for one in study.behavior_patterns[:_ROWS]))
    left = study.patterns_total - min(_ROWS, len(study.behavior_patterns))
    if left > 0:
        yield f"{left:,} more were looked at; the JSON result lists {len(study.behavior_patterns):,}."
    yield bullets(f"{code(one.name)}: {inline(one.definition)}" for one in study.behavior_patterns[:_ROWS])
    for one in study.behavior_patterns[:_ROWS]:
        spread = one.spread
        if spread is not None and spread.low is not None and one.status == "supported":
            span = f"{_signed(spread.low, summary)} to {_signed(spread.high, summary)}"
            yield f"Tasks disagree about {code(one.name)}: its effect ranges from {span} over the middle 80 % of them."


def _row(one: Pattern, summary: Summary) -> tuple[str, ...]:
    return (
        cell(one.name, 60),
        words.percent(one.prevalence) if one.measure == "binary" else ("–" if one.prevalence is None else f"mean {one.prevalence:.2f}"),
        _signed(one.within_task_rd, summary),
        _span(one.rd_ci, summary),
        "–" if one.q is None else f"{one.q:.3f}",
        f"{one.informative_tasks:,}",
        one.status.replace("_", " "),
        _signed(one.pooled_rd, summary),
    )


def _model(model: Model, summary: Summary) -> Iterator[str]:
    yield "## Taken together"
    yield inline(model.says)
    if model.auc is None:
        return
    facts = [f"Pairs in the right order: {model.auc:.3f} ({_plain(model.auc_ci)}) over {model.pairs:,} pairs of {model.tasks:,} tasks."]
    if model.null_auc is not None and model.p is not None:
        facts.append(f"With shuffled rewards: {model.null_auc:.3f} on average; as good or better in {words.percent(model.p)} of shuffles.")
    if model.ece is not None and model.brier is not None:
        facts.append(f"Calibration error {model.ece:.3f}; Brier score {model.brier:.4f}, without the model {model.brier_baseline:.4f}.")
    if model.best_of_n_gain is not None:
        best = f"; the best attempt itself would gain {_size(model.best_possible_gain, summary)}" if model.best_possible_gain else ""
        gain = f"{_signed(model.best_of_n_gain, summary)} ({_span(model.best_of_n_ci, summary)})"
        facts.append(f"Keeping the attempt with the highest score: {gain}{best}.")
    yield bullets(facts)


def _categories(scores: Sequence[CategoryScore], summary: Summary) -> Iterator[str]:
    if not scores:
        return
    yield "## Categories"
    rows = [
        (
            cell(words.spelled(one.category)),
            "–" if one.practice is None else f"{one.practice:.0f}",
            "–" if one.practice_ci is None else f"{one.practice_ci.low:.0f} to {one.practice_ci.high:.0f}",
            _signed(one.impact, summary),
            _span(one.impact_ci, summary),
            one.status.replace("_", " "),
        )
        for one in scores
    ]
    yield table(("Category", "Practice (0–100)", "Interval", "Impact", "Interval", "Evidence"), rows)
    yield (
        "Practice is how often what is held to be good is done where it applies, whether it helps here or not. Impact is what failed "
        "attempts lack of it, times what goes with it within the task."
    )


def _steps(study: Study) -> Iterator[str]:
    steps = study.steps
    if not steps.common_tasks:
        return
    yield "## Over training steps"
    yield f"On the {words.counted(steps.common_tasks, 'task')} that all {len(steps.points):,} steps have."
    moving = [curve for curve in steps.curves if curve.q is not None and curve.q <= 0.10 and curve.per_step is not None]
    moving.sort(key=lambda curve: -abs(curve.per_step or 0.0))
    first, last = steps.points[0].step, steps.points[-1].step
    change = [
        f"{code(curve.name)}: {100 * (curve.per_step or 0.0) * (last - first):+.0f} points from step {first} to {last} (q = {curve.q:.3f})"
        for curve in moving[:8]
    ]
    yield bullets(change) or "No behaviour changes more than chance."


def _reading(provenance: Provenance, summary: Summary) -> Iterator[str]:
    unit = "Points are hundredths of reward" if summary.outcome == "pass_fail" else "Effects are in units of reward"
    yield f"{unit}; “associated within the task”, never “causes”: a behaviour may be the reaction to failing rather than its reason."
    yield from (f"{name.replace('_', ' ')}: {meaning}." for name, meaning in STATUSES.items())
    yield (
        "p and q ask whether there is anything at all; the interval also allows for tasks in which the effect differs, so it can include 0 "
        "beside a small p."
    )
    yield "Pooled is the same comparison without regard to tasks. It is shown because it misleads."
    yield from (f"{inline(name)}: {inline(method)}." for name, method in provenance.methods.items())
    yield f"Catalogue {code(provenance.catalogue_version)}, seed {provenance.seed}. The same jobs and seed give the same result."


def _signed(value: float | None, summary: Summary) -> str:
    if value is None:
        return "–"
    return _number(value, summary) + (" points" if summary.outcome == "pass_fail" else "")


def _size(value: float | None, summary: Summary) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.0f} points" if summary.outcome == "pass_fail" else f"{value:.3g}"


def _span(interval: Interval | None, summary: Summary) -> str:
    if interval is None or interval.low is None or interval.high is None:
        return "–"
    return f"{_number(interval.low, summary)} to {_number(interval.high, summary)}"


def _number(value: float, summary: Summary) -> str:
    text = f"{100 * value:+.0f}" if summary.outcome == "pass_fail" else f"{value:+.3g}"
    return "0" if float(text) == 0 else text.replace("-", "−")


def _plain(interval: Interval | None) -> str:
    return "–" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"
