"""How sure a share is: counts with Wilson's interval, and pass@k over tasks with a bootstrap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchloop_analysis.records import Struct
from benchloop_analysis.wilson import wilson

LEVEL = 0.95
RESAMPLES = 2_000
WILSON = "Wilson score, 95 %"
BOOTSTRAP = f"percentile bootstrap over tasks, {RESAMPLES} resamples, 95 %"
#: Up to this k each is given, beyond it powers of two only.
_EACH_K = 5


class Rate(Struct, frozen=True, kw_only=True):
    """`count` of `of`: their ratio and its 95 % Wilson interval, all between 0 and 1; None where `of` is 0."""

    count: int
    of: int
    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of_counts(cls, count: int, of: int) -> Rate:
        """The share of `count` in `of`. Raises `ValueError` unless 0 ≤ count ≤ of."""
        if not 0 <= count <= of:
            raise ValueError(f"{count} of {of} is no share")
        low, high = wilson(count, of) or (None, None)
        return cls(count=count, of=of, value=count / of if of else None, low=low, high=high)


class PassAtK(Struct, frozen=True, kw_only=True):
    """The chance that at least one of `k` attempts at a task passes, mean over the `tasks` with at least k valid attempts.

    `method` names how `low` and `high` were made; they are None for a single task.
    """

    k: int
    value: float
    tasks: int
    low: float | None
    high: float | None
    method: str | None


def pass_at_k(attempts: int, passed: int, k: int) -> float:
    """The unbiased estimate from `attempts` ≥ k of which `passed` passed: 1 − C(n−c, k) / C(n, k)."""
    if attempts - passed < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / (attempts - failed) for failed in range(passed))


def ks(most: int) -> tuple[int, ...]:
    """The k that are given where a task has up to `most` attempts: 1 to 5, then powers of two, and the last."""
    found = [k for k in range(1, most + 1) if k <= _EACH_K or k & (k - 1) == 0]
    return tuple(dict.fromkeys([*found, most])) if most else ()


def pass_rates(tasks: Iterable[tuple[int, int]], *, seed: int = 0) -> tuple[PassAtK, ...]:
    """pass@k for each k in `ks`, from the (attempts, passed) of every task; tasks without attempts are left out."""
    classes: dict[tuple[int, int], int] = {}
    for task in tasks:
        if task[0]:
            classes[task] = classes.get(task, 0) + 1
    most = max((attempts for attempts, _ in classes), default=0)
    return tuple(_pass_rate(classes, k, seed) for k in ks(most))


def _pass_rate(classes: Mapping[tuple[int, int], int], k: int, seed: int) -> PassAtK:
    """Tasks with equal counts are one class: drawing tasks with replacement is drawing class sizes from a multinomial."""
    fitting = sorted((task, count) for task, count in classes.items() if task[0] >= k)
    values = [pass_at_k(attempts, passed, k) for (attempts, passed), _ in fitting]
    counts = [count for _, count in fitting]
    total = sum(counts)
    value = math.fsum(one * count for one, count in zip(values, counts, strict=True)) / total
    low, high, method = _interval(values, counts, seed)
    return PassAtK(k=k, value=value, tasks=total, low=low, high=high, method=method)


def _interval(values: Sequence[float], counts: Sequence[int], seed: int) -> tuple[float | None, float | None, str | None]:
    """Where all tasks agree a bootstrap sees no spread at all, and Wilson's interval over the tasks is given instead."""
    total = sum(counts)
    if total < 2:
        return None, None, None
    if max(values) - min(values) < 1e-12:
        if values[0] not in (0.0, 1.0):
            return None, None, None
        low, high = wilson(round(values[0]) * total, total) or (0.0, 1.0)
        return low, high, f"{WILSON}, over tasks"
    drawn = np.random.default_rng(seed).multinomial(total, np.asarray(counts) / total, size=RESAMPLES)
    means = drawn @ np.asarray(values) / total
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high), BOOTSTRAP
