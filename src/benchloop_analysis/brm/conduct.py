"""A study from the jobs of a group to a result with examples: the same steps on a server and for a local run.

The sample is frozen first, with everything but what the jobs did, so that a study that is taken up again, or whose group changes meanwhile,
is about the same jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

import msgspec

from benchloop_analysis.behaviours import CATALOGUE, judged
from benchloop_analysis.behaviours.records import Features
from benchloop_analysis.brm import mining
from benchloop_analysis.brm.records import Pattern, SampleRecord, Study
from benchloop_analysis.brm.sampling import Row, choose, seed_of
from benchloop_analysis.brm.study import Options, study, wanted_examples, with_examples
from benchloop_analysis.brm.table import Observed, TableBuilder

#: Why jobs are not looked at, in the words of people.
NOT_ENDED, NO_TRAJECTORY, NO_STEP, UNSEEN, CHANGED = "not_ended", "no_trajectory", "no_step", "unreadable", "changed"
WORDS = {
    NOT_ENDED: "had not ended",
    NO_TRAJECTORY: "have no trajectory",
    NO_STEP: "belong to no training step",
    UNSEEN: "could not be read",
    CHANGED: "were deleted or pushed again after the sample was drawn",
}
#: Steps that are cited for one example.
_CITED = 5
_PLACES = {behaviour.id: place for place, behaviour in enumerate(CATALOGUE)}


class Job(msgspec.Struct, frozen=True, array_like=True):
    """One job of a sample. `weight`: how many jobs of the group it stands for; `fingerprint`: of the content that is meant."""

    job_id: str
    task_id: str
    agent: str | None
    model: str | None
    step: int | None
    reward: float | None
    reward_valid: bool | None
    fingerprint: str = ""
    weight: float = 1.0


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """A sample as it was drawn, once. `left_out`: reason → number of jobs that were there and cannot be looked at."""

    group_id: str
    seed: int
    jobs: tuple[Job, ...]
    samples: tuple[SampleRecord, ...]
    left_out: dict[str, int]


def freeze(jobs: Iterable[Job], *, group_id: str, steps: Iterable[int], size: int | None, left_out: Mapping[str, int]) -> Frozen:
    """Draw whole tasks, `size` jobs of each training step, all jobs with None. The order of the jobs does not matter."""
    there = sorted(jobs, key=lambda job: (-1 if job.step is None else job.step, job.task_id, job.job_id))
    seed = seed_of(group_id, steps)
    sample = choose([Row(job.job_id, job.task_id, job.reward, job.reward_valid, job.step) for job in there], size=size, seed=seed)
    weights = dict(zip(sample.job_ids, sample.weights, strict=True))
    drawn = tuple(msgspec.structs.replace(job, weight=weights[job.job_id]) for job in there if job.job_id in weights)
    return Frozen(group_id=group_id, seed=seed, jobs=drawn, samples=sample.records, left_out=dict(left_out))


def conduct(
    frozen: Frozen,
    features: Iterable[tuple[Job, Features | str]],
    *,
    scoring_limit: int,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    """The result without the steps of its examples. `features` are of the jobs of the sample; a word of `WORDS` for one without."""
    builder = TableBuilder()
    left_out = dict(frozen.left_out)
    for job, seen in features:
        if isinstance(seen, str):
            left_out[seen] = left_out.get(seen, 0) + 1
        else:
            builder.add(_observed(job, seen))
    options = Options(scoring_limit=scoring_limit, seed=frozen.seed, samples=frozen.samples)
    return _with_left_out(study(builder.build(), options, progress=progress), left_out)


def illustrated(found: Study, read: Callable[[list[str]], Mapping[str, Features]]) -> Study:
    """The result with the steps of its examples; `read` gives what the jobs with these ids did."""
    wanted = wanted_examples(found)
    seen = read(sorted({job_id for _, job_id in wanted}))
    patterns = {pattern.id: pattern for pattern in found.behavior_patterns}
    steps = {(name, job_id): _cited(patterns[name], seen[job_id]) for name, job_id in wanted if job_id in seen}
    return with_examples(found, steps)


def judged_patterns(jobs: Iterable[tuple[Job, Features]], *, seed: int) -> tuple[Pattern, ...]:
    """What a model said it saw, compared as the other behaviours are. A category of its own, and in no model."""
    seen = {job.job_id: (job, features) for job, features in jobs}
    asked_about = judged.catalogue()
    builder = TableBuilder(asked_about, f"judged-{judged.PROMPT_VERSION}")
    for job, features in seen.values():
        builder.add(_observed(job, features))
    if not seen:
        return ()
    found = study(builder.build(), Options(scoring_limit=len(asked_about), seed=seed))
    places = {behaviour.id: place for place, behaviour in enumerate(asked_about)}
    wanted = [(name, job_id) for name, job_id in wanted_examples(found) if name in places]
    shown = with_examples(found, {(name, job_id): seen[job_id][1].steps[places[name]] for name, job_id in wanted})
    return tuple(pattern for pattern in shown.behavior_patterns if pattern.id in places)


def answer(found: Study) -> dict[str, Any]:
    """The result in plain values, by the names under which servers give it (E34)."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return {
        "summary": found.summary.markdown,
        "summaryData": plain["summary"],
        "categoryScores": plain["category_scores"],
        "behaviorPatterns": plain["behavior_patterns"],
        "patternsTotal": plain["patterns_total"],
        "model": plain["model"],
        "steps": plain["steps"],
        "provenance": plain["provenance"],
    }


def _observed(job: Job, features: Features) -> Observed:
    return Observed(
        job_id=job.job_id,
        task_id=job.task_id,
        agent=job.agent,
        model=job.model,
        step=job.step,
        reward=job.reward,
        reward_valid=job.reward_valid,
        features=features,
        weight=job.weight,
    )


def _cited(pattern: Pattern, features: Features) -> tuple[int, ...]:
    if pattern.kind == "catalogue":
        return tuple(features.steps[_PLACES[pattern.id]])
    if pattern.actions is None:
        return ()
    steps = list(accumulate(features.action_steps))
    return tuple(dict.fromkeys(step for step in _of_occurrences(features.actions, pattern.actions, steps)))[:_CITED]


def _of_occurrences(actions: str, wanted: str, steps: list[int]) -> Iterator[int]:
    for start in mining.positions(actions, wanted):
        yield from steps[start : start + len(wanted)]


def _with_left_out(found: Study, left_out: Mapping[str, int]) -> Study:
    """The result with a sentence about the jobs that were not looked at."""
    parts = [f"{count:,} {WORDS[reason]}" for reason, count in left_out.items() if count]
    if not parts:
        return found
    sentence = f"Left out: jobs of which {', '.join(parts)}."
    summary = found.summary
    told = msgspec.structs.replace(summary, warnings=(*summary.warnings, sentence), markdown=f"{summary.markdown.rstrip()}\n\n{sentence}\n")
    return msgspec.structs.replace(found, summary=told)
