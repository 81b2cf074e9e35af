"""What a behaviour is, and what is seen of all behaviours in one job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from benchloop_analysis.records import Struct

Category = Literal[
    "exploration",
    "planning",
    "verification",
    "error_recovery",
    "tool_discipline",
    "efficiency",
    "communication",
    "integrity",
    "judged",
    "amount",
]
#: A ratio lies between 0 and 1 (only `relative_length` may be larger).
BehaviourKind = Literal["binary", "ratio"]
#: early: decided before the first change or in the first turns; terminal: decided by how the run ends, which nearly restates the outcome.
Timing = Literal["early", "any", "terminal"]


class Behaviour(Struct, frozen=True, kw_only=True):
    """One behaviour of the catalogue.

    `prior` is what people would expect of it: 1 goes with good work, -1 with bad, 0 nobody should say; it is shown and used in no test.
    `applies` says when there is anything to see, None: always. `scored`: whether it is compared with rewards.
    """

    id: str
    name: str
    category: Category
    kind: BehaviourKind = "binary"
    timing: Timing = "any"
    prior: Literal[-1, 0, 1]
    definition: str
    applies: str | None = None
    scored: bool = True


class Features(Struct, frozen=True, kw_only=True):
    """What is seen of the behaviours in one job, in the order of the catalogue that `version` names.

    A value is None where the behaviour does not apply, else 0.0 or 1.0, or a ratio. `steps` are up to 5 step ids a behaviour that show it:
    the steps that do it, where there are any, else those that it was to be seen at. `landmarks` are the values on the first m steps of the
    agent, for those m of `LANDMARKS` that are fewer than `n_steps`, the number of steps of the agent; terminal behaviours are None there.
    `actions` is one sign of `ACTIONS` for each action of the agent, the first 1,000; `actions_whole` is False where there were more.
    `action_steps` are the step ids of these actions, each as the difference to the one before (the first to 0).
    """

    version: str
    values: tuple[float | None, ...]
    steps: tuple[tuple[int, ...], ...]
    landmarks: Mapping[int, tuple[float | None, ...]] = {}
    n_steps: int = 0
    actions: str = ""
    action_steps: tuple[int, ...] = ()
    actions_whole: bool = True
