"""The structured summary: how many jobs and tasks carried information, what could have been seen, and what has to be warned of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from benchloop_analysis import words
from benchloop_analysis.brm.columns import Options, Outcome
from benchloop_analysis.brm.effects import FEWEST
from benchloop_analysis.brm.mining import Mined
from benchloop_analysis.brm.records import MINED, Counts, Pattern, Steps, Summary
from benchloop_analysis.statistics import power
from benchloop_analysis.statistics.strata import Strata

_P = 0.05
#: From this share of invalid rewards on, they are warned of.
_INVALID = 0.05


def summarised(outcome: Outcome, patterns: Sequence[Pattern], steps: Steps, mined: Mined, options: Options) -> Summary:
    """The summary without its Markdown."""
    table = outcome.table
    among = Strata.of(table.stratum[outcome.valid])
    reward = outcome.reward[outcome.valid]
    mixed = among.sums(among.centred(reward) ** 2) > 1e-12
    tasks = table.task[outcome.valid][among.one_of()]
    variance, pairs = _even(among, reward, mixed, outcome)
    counts = counted(patterns)
    return Summary(
        markdown="",
        headline=_headline(counts),
        sentence=sentence(counts),
        n=len(table),
        valid_n=int(outcome.valid.sum()),
        invalid_n=int(table.invalid.sum()),
        missing_n=int((np.isnan(table.reward) & ~table.invalid).sum()),
        tasks=len(np.unique(table.task)),
        mixed_tasks=len(np.unique(tasks[mixed])),
        strata=among.count,
        informative_jobs=int(among.sizes[mixed].sum()),
        outcome="pass_fail" if outcome.binary else "continuous",
        mean_reward=_mean(outcome, invalid=False),
        mean_reward_if_invalid_failed=_mean(outcome, invalid=True),
        smallest_effect=power.smallest_effect(variance, pairs),
        smallest_odds_ratio=power.smallest_odds_ratio(variance) if outcome.binary else None,
        counts=counts,
        warnings=tuple(_warnings(outcome, mixed, steps, mined)),
    )


def _even(
    among: Strata, reward: np.ndarray[tuple[int, ...], np.dtype[np.float64]], mixed: np.ndarray, outcome: Outcome
) -> tuple[float, float]:
    """What a behaviour that half of the attempts at each task show has to go by; rewards that are not 0 and 1 count by their spread."""
    if outcome.binary:
        return power.even_split(among.sums(reward), among.sizes)
    half = np.floor(among.sizes / 2) * np.ceil(among.sizes / 2) / among.sizes
    spread = among.sums(among.centred(reward) ** 2) / np.maximum(among.sizes - 1, 1)
    return float((half * spread * mixed).sum()), float(half.sum())


def _mean(outcome: Outcome, *, invalid: bool) -> float | None:
    """The mean reward, weighted to the whole group."""
    table = outcome.table
    kept = outcome.valid | table.invalid if invalid else outcome.valid
    weight = table.weight[kept]
    total = float(weight.sum())
    return float((weight * np.where(table.invalid, 0.0, outcome.reward)[kept]).sum()) / total if total > 0 else None


def counted(patterns: Sequence[Pattern]) -> Counts:
    """How many came out as what. Only behaviours that are scored count."""
    scored = [one for one in patterns if one.scored]
    found = Counter(one.status for one in scored)
    given = [one for one in scored if one.kind != MINED]
    return Counts(
        supported=found["supported"],
        suggestive=found["suggestive"],
        no_evidence=found["no_evidence"],
        insufficient=found["insufficient"],
        not_applicable=found["not_applicable"],
        tested=sum(one.q is not None for one in scored),
        pooled_significant=sum(one.pooled_p is not None and one.pooled_p < _P for one in given),
        pooled_tested=sum(one.pooled_p is not None for one in given),
        within_significant=sum(one.status == "supported" for one in given),
    )


def _headline(counts: Counts) -> str:
    found = words.counted(counts.supported, "behaviour")
    goes = "goes" if counts.supported == 1 else "go"
    return f"{found} {goes} with reward within the task; {counts.tested:,} could be tested, {counts.insufficient:,} could not."


def sentence(counts: Counts) -> str:
    """What comparing within tasks changes, in one sentence."""
    if not counts.pooled_tested:
        return "No behaviour could be compared: none differs between jobs with different rewards."
    pooled = f"Pooled over all jobs, {counts.pooled_significant:,} of {counts.pooled_tested:,} behaviours look significant (p < 0.05)"
    if not counts.tested:
        return f"{pooled}; compared between attempts at the same task, nothing can be said: too few tasks have attempts that differ."
    within = f"{counts.within_significant:,}" if counts.within_significant else "none"
    return (
        f"{pooled}; compared between attempts at the same task, {within} {'does' if counts.within_significant == 1 else 'do'}"
        f"{': what looked like behaviour was which tasks are hard' if _confounded(counts) else ''}."
    )


def _confounded(counts: Counts) -> bool:
    return counts.pooled_significant >= 3 and counts.within_significant * 4 <= counts.pooled_significant


def _warnings(outcome: Outcome, mixed: np.ndarray, steps: Steps, mined: Mined) -> Iterator[str]:
    table = outcome.table
    invalid = int(table.invalid.sum())
    if invalid:
        share = f" ({words.percent(invalid / len(table))} of all)" if invalid >= _INVALID * len(table) else ""
        yield (
            f"{words.counted(invalid, 'job')}{share} with an invalid reward {'was' if invalid == 1 else 'were'} left out. "
            "Each pattern also says what it would be if they counted as failures."
        )
    missing = int((np.isnan(table.reward) & ~table.invalid).sum())
    if missing:
        yield f"{words.counted(missing, 'job')} without a reward {'was' if missing == 1 else 'were'} left out."
    if len(mixed) and not mixed.any():
        yield "No task has attempts with unequal rewards. More attempts at each task would help, more tasks of one attempt would not."
    elif int(mixed.sum()) < FEWEST:
        yield (
            f"Only {words.counted(int(mixed.sum()), 'comparison')} of attempts at one task {'has' if mixed.sum() == 1 else 'have'} unequal "
            f"rewards; it takes {FEWEST} to tell anything. More attempts at each task would help, more tasks of one attempt would not."
        )
    if steps.points and not steps.common_tasks:
        yield "No task is there in every training step: curves over steps would show the change of tasks and are left out."
    elif any(point.mix_changed for point in steps.points):
        same = words.counted(steps.common_tasks, "task")
        yield f"The tasks change between training steps; curves count only the {same} that all steps have."
    if not mined.columns and mined.found_on:
        yield "No row of actions was frequent enough on half of the tasks to be tested on the other half."
