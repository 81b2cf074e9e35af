"""How good scores are: pairs of one task that they put in the right order, calibration, and what choosing by them gains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchloop_analysis.statistics.strata import Floats, Strata, scores

BINS = 10


@dataclass(frozen=True)
class Pairs:
    """By stratum: pairs with unequal rewards, and how many of them the score puts in the right order, ties counted half."""

    right: Floats
    all: Floats

    @property
    def auc(self) -> float | None:
        """The share over all strata; None without a pair."""
        total = float(self.all.sum())
        return float(self.right.sum()) / total if total > 0 else None


def ordered_pairs(score: Floats, reward: Floats, strata: Strata) -> Pairs:
    """Counts pairs within strata. For a reward of two values by ranks, for others value against value."""
    if len(np.unique(reward)) <= 2:
        ranks = scores(score, strata).rows * strata.sizes[strata.index]  # rows below less rows above
        better = reward == reward.max() if len(reward) else np.zeros(0, dtype=np.bool_)
        above = strata.sums(better.astype(np.float64))
        every = above * (strata.sizes - above)
        return Pairs((every + strata.sums(ranks * better)) / 2, every)
    return _pair_by_pair(score, reward, strata)


def _pair_by_pair(score: Floats, reward: Floats, strata: Strata) -> Pairs:
    order = np.argsort(strata.index, kind="stable")
    ends = np.cumsum(strata.sizes).astype(np.int64)
    right, every = np.zeros(strata.count), np.zeros(strata.count)
    for place, (start, end) in enumerate(zip(np.concatenate(([0], ends[:-1])), ends, strict=True)):
        rows = order[start:end]
        gap = np.sign(reward[rows][:, None] - reward[rows][None, :])
        agree = np.sign(score[rows][:, None] - score[rows][None, :])
        up = gap > 0
        every[place] = up.sum()
        right[place] = (up & (agree > 0)).sum() + (up & (agree == 0)).sum() / 2
    return Pairs(right, every)


@dataclass(frozen=True)
class Calibration:
    """`ece`: mean distance of prediction and outcome over bins of equal size; `brier`: mean squared distance over rows."""

    ece: float
    brier: float
    bins: tuple[tuple[int, float, float], ...]


def calibration(predicted: Floats, outcome: Floats, bins: int = BINS) -> Calibration | None:
    """Bins of equal numbers of rows, in the order of the prediction; None without rows."""
    if not len(predicted):
        return None
    order = np.argsort(predicted, kind="stable")
    pieces = [piece for piece in np.array_split(order, min(bins, len(order))) if len(piece)]
    found = tuple((len(piece), float(predicted[piece].mean()), float(outcome[piece].mean())) for piece in pieces)
    ece = sum(count * abs(said - seen) for count, said, seen in found) / len(order)
    return Calibration(ece, float(((predicted - outcome) ** 2).mean()), found)


@dataclass(frozen=True)
class Choice:
    """By stratum: mean reward of the rows with the highest score less that of all, and the same for the highest reward."""

    gained: Floats
    possible: Floats


def best_of_n(score: Floats, reward: Floats, strata: Strata) -> Choice:
    """What choosing the row with the highest score gains in each stratum; ties are shared."""
    top = np.full(strata.count, -np.inf)
    np.maximum.at(top, strata.index, score)
    chosen = (score == top[strata.index]).astype(np.float64)
    best = np.full(strata.count, -np.inf)
    np.maximum.at(best, strata.index, reward)
    mean = strata.means(reward)
    return Choice(strata.sums(reward * chosen) / np.maximum(strata.sums(chosen), 1) - mean, best - mean)
