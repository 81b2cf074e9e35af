"""pass@k from counts of attempts. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb

from benchloop_client.contract.summaries import PassAtK

#: The values of k that are worth a column; only those up to the largest number of attempts are given.
KS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 25, 32, 50, 64, 100, 128)


def pass_at_k(attempts: int, passed: int, k: int) -> float:
    """The chance that k attempts drawn from `attempts` without putting back hold a passed one: 1 - C(n-c, k) / C(n, k)."""
    return 1.0 - comb(attempts - passed, k) / comb(attempts, k)


def table(strata: Iterable[tuple[int, int, int]]) -> list[PassAtK]:
    """pass@k over (attempts, passed, number of (task, step) pairs with these counts)."""
    known = [(attempts, passed, number) for attempts, passed, number in strata if attempts]
    most = max((attempts for attempts, _, _ in known), default=0)
    return [_row(known, k) for k in KS if k <= most]


def _row(strata: list[tuple[int, int, int]], k: int) -> PassAtK:
    enough = [(pass_at_k(attempts, passed, k), number) for attempts, passed, number in strata if attempts >= k]
    tasks = sum(number for _, number in enough)
    return PassAtK(k=k, value=sum(value * number for value, number in enough) / tasks, tasks=tasks)
