"""The short way for a step that is in the normal form already, but for the order of its keys and its nulls: most steps are."""

from __future__ import annotations

from typing import Any

import msgspec

from benchloop_client.contract.trajectory.shape import InvalidTrajectory
from benchloop_client.contract.trajectory.strict import Step, check_step


def plain_step(value: dict[str, Any], number: int) -> dict[str, Any] | None:
    """The step with its keys in order and without nulls; None where it takes more than that, which only the long way can do."""
    try:
        step = msgspec.convert(value, Step)
        check_step(step, number, "")
    except (msgspec.ValidationError, InvalidTrajectory):
        return None
    return None if _holds_empty(step) else msgspec.to_builtins(step)


def _holds_empty(step: Step) -> bool:
    """Whether something that is left out when it is empty is there and empty."""
    if step.extra == {} or step.tool_calls == []:
        return True
    owners: list[Any] = [*(step.tool_calls or ()), *((step.metrics,) if step.metrics is not None else ())]
    for result in step.observation.results if step.observation is not None else ():
        if result.subagent_trajectory_ref == []:
            return True
        owners += [result, *(result.subagent_trajectory_ref or ())]
    return any(owner.extra == {} for owner in owners)
