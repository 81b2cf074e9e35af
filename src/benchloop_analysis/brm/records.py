"""The result of a study: what was compared with what, how sure it is, and what could not have been seen.

Estimates are in points of reward between 0 and 1: an effect of −0.12 means that, within the same task, attempts that show the behaviour
have 12 points less reward than those that do not. Intervals are 95 % unless `Provenance.level` says otherwise. None means unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from benchloop_analysis.records import Struct

#: supported: q ≤ 0.10. suggestive: p < 0.05 but q > 0.10. insufficient: fewer than 8 strata could tell. not_applicable: nothing to compare.
Status = Literal["supported", "suggestive", "no_evidence", "insufficient", "not_applicable"]
#: How p was found: by counting every arrangement, by drawing arrangements, or from their mean and variance where there are very many.
PMethod = Literal["exact", "permutation", "normal"]
MINED = "mined"
AMOUNT: Literal["amount"] = "amount"


class Interval(Struct, frozen=True, kw_only=True):
    """The two ends of an interval; None where it has no end on that side."""

    low: float | None
    high: float | None


class Example(Struct, frozen=True, kw_only=True):
    """A job that shows a behaviour, or as a counter-example does not. `steps` are filled by `study.with_examples`."""

    job: str
    task: str
    outcome: Literal["pass", "fail"]
    reward: float
    steps: tuple[int, ...] = ()


class Landmark(Struct, frozen=True, kw_only=True):
    """The effect of the behaviour within the first `steps` steps, among the `jobs` that ran longer: what reacts to failing is no cause."""

    steps: int
    jobs: int
    informative_tasks: int
    rd: float | None
    rd_ci: Interval | None
    p: float | None


class Spread(Struct, frozen=True, kw_only=True):
    """Whether the effect differs between tasks (p), and where it does the effect in the 10th, 50th and 90th of 100 tasks."""

    p: float | None
    low: float | None = None
    median: float | None = None
    high: float | None = None


class Share(Struct, frozen=True, kw_only=True):
    """How often a behaviour is shown in one part of the sample: `part` is "model" or "step", `key` names it; `value` None where n is 0."""

    part: Literal["model", "step"]
    key: str
    n: int
    value: float | None


class Pattern(Struct, frozen=True, kw_only=True, rename={"odds_ratio": "or", "odds_ratio_ci": "or_ci"}):
    """One behaviour, compared within the task.

    `within_task_rd` is the difference in reward between attempts at the same task that differ in the behaviour (Mantel–Haenszel risk
    difference; for a ratio, between the one that has more of it and the one that has less). `pooled_rd` is the same without regard to
    tasks: what a raw comparison would say. `informative_tasks` counts tasks with both rewards and both behaviours; `informative_strata`
    the same for task × agent × model × step. `smallest_effect` could be seen with 80 % power. `shrunk_rd` is pulled towards 0 by how
    little most behaviours do. `prevalence` is weighted to the whole group; `prevalence_pass` and `_fail` too. `length_adjusted_rd` compares
    attempts of equal length. `rd_if_invalid_failed` counts invalid rewards as failures. `same_as` are behaviours that nearly always come
    together with this one and are not listed apart. `or` is None where a ratio or a reward that is no pass or fail has no odds.
    """

    id: str
    name: str
    category: str
    kind: Literal["catalogue", "mined", "amount"]
    measure: Literal["binary", "ratio"]
    timing: Literal["early", "any", "terminal"]
    prior: int
    scored: bool
    definition: str
    applies: str | None
    status: Status
    applicable_n: int
    applicable_tasks: int
    prevalence: float | None
    prevalence_ci: Interval | None
    prevalence_pass: float | None
    prevalence_fail: float | None
    within_task_rd: float | None
    rd_ci: Interval | None
    odds_ratio: float | None
    odds_ratio_ci: Interval | None
    p: float | None
    p_method: PMethod | None
    cmh_p: float | None
    q: float | None
    informative_tasks: int
    informative_strata: int
    smallest_effect: float | None
    shrunk_rd: float | None
    pooled_rd: float | None
    pooled_ci: Interval | None
    pooled_p: float | None
    landmark: Landmark | None
    spread: Spread | None
    length_adjusted_rd: float | None
    rd_if_invalid_failed: float | None
    trend_p: float | None = None
    trend_q: float | None = None
    trend_per_step: float | None = None
    same_as: tuple[str, ...] = ()
    parts: tuple[Share, ...] = ()
    examples: tuple[Example, ...] = ()
    counter_examples: tuple[Example, ...] = ()
    #: Of a mined pattern: one character for each action, as in `Features.actions`.
    actions: str | None = None

    @property
    def landmark_rd(self) -> float | None:
        """The effect at the landmark."""
        return self.landmark.rd if self.landmark is not None else None


class CategoryScore(Struct, frozen=True, kw_only=True):
    """Two numbers, not one. `practice` (0 to 100): how often what is held to be good practice is done where it applies.

    `impact`, in points of reward: what failed attempts have less of than passed ones at the same task, times what goes with it.
    """

    category: str
    practice: float | None
    practice_ci: Interval | None
    impact: float | None
    impact_ci: Interval | None
    status: Status
    n_behaviors: int


class Coefficient(Struct, frozen=True, kw_only=True):
    """Of one behaviour in the model: reward points for one standard deviation within the task. `sign_stability`: share of resamples."""

    id: str
    name: str
    value: float
    ci: Interval
    sign_stability: float


class CalibrationBin(Struct, frozen=True, kw_only=True):
    """Jobs whose predicted chance lies near `predicted`, and which share of them passed."""

    n: int
    predicted: float
    observed: float


class JobScore(Struct, frozen=True, kw_only=True):
    """Predicted reward of a job less the mean of its task, −1 to 1, by a model that never saw the task's rewards."""

    job: str
    score: float


class Model(Struct, frozen=True, kw_only=True):
    """Ridge on behaviours less their task's mean, fitted on other tasks than those it is judged on, and how good it is.

    `auc`: of two attempts at the same task with different rewards, how often the better one has the higher score. `null_auc` and
    `null_high` are the mean and the 95th percentile of that when rewards are shuffled within tasks, `p` how often chance does as well.
    `ece`, `brier`: calibration of the predicted chance to pass, given how many attempts at the task passed; `brier_baseline` is without
    the model. `best_of_n_gain`: mean reward of the attempt with the highest score, less the mean of all; `best_possible_gain` is of the
    best attempt. `predicts` is False where the interval of `auc` includes 0.5; then `job_scores` is empty and `says` tells so.
    """

    predicts: bool
    says: str
    auc: float | None = None
    auc_ci: Interval | None = None
    pairs: int = 0
    tasks: int = 0
    null_auc: float | None = None
    null_high: float | None = None
    p: float | None = None
    ece: float | None = None
    brier: float | None = None
    brier_baseline: float | None = None
    calibration: tuple[CalibrationBin, ...] = ()
    best_of_n_gain: float | None = None
    best_of_n_ci: Interval | None = None
    best_possible_gain: float | None = None
    penalty: float | None = None
    coefficients: tuple[Coefficient, ...] = ()
    job_scores: tuple[JobScore, ...] = ()
    job_scores_left_out: int = 0


class StepPoint(Struct, frozen=True, kw_only=True):
    """One training step: `tasks` there, of which `common` are there in every step. `mix_changed`: other tasks than in the step before."""

    step: int
    jobs: int
    tasks: int
    common: int
    mix_changed: bool


class CurvePoint(Struct, frozen=True, kw_only=True):
    """A value at a step with its band (bootstrap over tasks); n is the number of jobs behind it."""

    step: int
    n: int
    value: float | None
    low: float | None
    high: float | None


class Curve(Struct, frozen=True, kw_only=True):
    """A behaviour's prevalence, or the mean reward, over training steps on the tasks common to all of them.

    `p` is the Cochran–Armitage trend stratified by task, `q` the same over all behaviours, `per_step` its slope in points a step.
    """

    id: str
    name: str
    points: tuple[CurvePoint, ...]
    p: float | None = None
    q: float | None = None
    per_step: float | None = None


class Steps(Struct, frozen=True, kw_only=True):
    """Training curves; empty with fewer than two steps. `common_tasks`: those that every step has, and the only ones that curves count."""

    points: tuple[StepPoint, ...] = ()
    common_tasks: int = 0
    reward: Curve | None = None
    curves: tuple[Curve, ...] = ()


class SampleRecord(Struct, frozen=True, kw_only=True):
    """How the jobs of one training step (None: the whole group) were drawn: whole tasks, those with unequal rewards first.

    `weights` says how many tasks of its class one drawn task stands for; `requested` None: all jobs were taken.
    """

    step: int | None
    requested: int | None
    seed: int
    jobs: int
    of_jobs: int
    tasks: int
    of_tasks: int
    mixed_tasks: int
    of_mixed_tasks: int
    weights: Mapping[str, float] = {}


class Provenance(Struct, frozen=True, kw_only=True):
    """What is needed to get the same result again."""

    benchloop: str
    catalogue_version: str
    seed: int
    level: float
    scoring_limit: int
    permutations: int
    resamples: int
    samples: tuple[SampleRecord, ...]
    methods: Mapping[str, str]
    mined_on_tasks: int = 0
    mined_tested_on_tasks: int = 0
    mined_candidates: int = 0
    llm: str | None = None


class Counts(Struct, frozen=True, kw_only=True):
    """How many of the behaviours came out as what."""

    supported: int = 0
    suggestive: int = 0
    no_evidence: int = 0
    insufficient: int = 0
    not_applicable: int = 0
    tested: int = 0
    pooled_significant: int = 0
    pooled_tested: int = 0
    within_significant: int = 0


class Summary(Struct, frozen=True, kw_only=True):
    """What a newcomer reads first. `n` jobs, of which `valid_n` have a reward that means something and are compared.

    `mixed_tasks` have unequal rewards: only they carry information. `outcome` says what pass and fail mean here. `smallest_effect` is what
    a behaviour shown by half of the attempts would need, `smallest_odds_ratio` the same as odds. `mean_reward_if_invalid_failed` counts
    invalid rewards as 0. `sentence` is the comparison of pooled and within-task findings.
    """

    markdown: str
    headline: str
    sentence: str
    n: int
    valid_n: int
    invalid_n: int
    missing_n: int
    tasks: int
    mixed_tasks: int
    strata: int
    informative_jobs: int
    outcome: Literal["pass_fail", "continuous"]
    mean_reward: float | None
    mean_reward_if_invalid_failed: float | None
    smallest_effect: float | None
    smallest_odds_ratio: float | None
    counts: Counts
    warnings: tuple[str, ...] = ()


class Study(Struct, frozen=True, kw_only=True):
    """The result. `behavior_patterns` are at most `scoring_limit`, in the order worth reading; `patterns_total` is how many there were."""

    summary: Summary
    category_scores: tuple[CategoryScore, ...]
    behavior_patterns: tuple[Pattern, ...]
    patterns_total: int
    model: Model
    steps: Steps
    provenance: Provenance


def to_json(study: Study) -> bytes:
    """The result as JSON with the fields' names."""
    return msgspec.json.encode(study)
