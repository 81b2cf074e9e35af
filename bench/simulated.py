"""Groups of attempts with a known truth: hard tasks make behaviour and reward alike, and what a behaviour does is planted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchloop_analysis.statistics.compare import Rows

Floats = NDArray[np.float64]
Kind = Literal["binary", "ratio"]
Reward = Literal["binary", "continuous"]


@dataclass(frozen=True)
class World:
    """How groups are made.

    A task's ease is normal with mean `ease` and deviation `spread`, in log odds to pass. The log odds to show a behaviour are `shown` +
    `confounding` × ease. Showing it multiplies the odds to pass by `odds` (or adds `odds` - 1 tenths to a continuous reward), and by a
    factor of its own for each task with deviation `uneven` in log odds.
    """

    tasks: int
    attempts: int
    odds: float = 1.0
    kind: Kind = "binary"
    reward: Reward = "binary"
    ease: float = -0.3
    spread: float = 1.0
    shown: float = 0.0
    confounding: float = 0.8
    uneven: float = 0.0

    @property
    def named(self) -> str:
        """The world in a few words."""
        extra = f", effects differ by {self.uneven:g}" if self.uneven else ""
        rare = f", shown {self.shown:+g}" if self.shown else ""
        return f"{self.tasks} × {self.attempts}, {self.kind} behaviour, {self.reward} reward, odds {self.odds:g}{rare}{extra}"


def behaviours(world: World, random: np.random.Generator, ease: Floats) -> Floats:
    """A behaviour for attempts at tasks of this ease: 0 and 1, or between."""
    lean = world.shown + world.confounding * ease
    if world.kind == "binary":
        return np.asarray(random.random(ease.shape) < special.expit(lean), dtype=np.float64)
    return np.asarray(special.expit(lean + random.normal(size=ease.shape)))


def rewards(world: World, random: np.random.Generator, ease: Floats, pushed: Floats) -> Floats:
    """The reward of attempts at tasks of this ease; `pushed` is the behaviour times what it does, in log odds."""
    if world.reward == "binary":
        return np.asarray(random.random(ease.shape) < special.expit(ease + pushed), dtype=np.float64)
    return np.asarray(special.expit(ease) + 0.1 * pushed + 0.2 * random.normal(size=ease.shape))


def _strength(world: World) -> float:
    return float(np.log(world.odds)) if world.reward == "binary" else world.odds - 1


def group(world: World, random: np.random.Generator, nulls: int = 0) -> list[Rows]:
    """One group: the planted behaviour first, then `nulls` that only go with the ease of the task."""
    task = np.repeat(np.arange(world.tasks), world.attempts)
    ease = random.normal(world.ease, world.spread, world.tasks)[task]
    uneven = (world.uneven * random.normal(size=world.tasks))[task]
    planted = behaviours(world, random, ease)
    reward = rewards(world, random, ease, (_strength(world) + uneven) * planted)
    columns = [planted, *(behaviours(world, random, ease) for _ in range(nulls))]
    return [Rows(column, reward, task, task, np.ones(len(task))) for column in columns]


def truth(world: World, pairs: int = 2_000_000) -> float:
    """The effect of the planted behaviour over all tasks there could be: from very many pairs of attempts at one task each."""
    random = np.random.default_rng(99)
    ease = random.normal(world.ease, world.spread, pairs)
    strength = _strength(world) + world.uneven * random.normal(size=pairs)
    one, other = behaviours(world, random, ease), behaviours(world, random, ease)
    if world.reward == "binary":
        gained = special.expit(ease + strength * one) - special.expit(ease + strength * other)
    else:
        gained = 0.1 * strength * (one - other)
    return float((np.sign(one - other) * gained).sum() / (one != other).sum())
