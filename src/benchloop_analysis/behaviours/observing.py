"""Looks for every behaviour of the catalogue in one job, as a whole and in its first steps."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from benchloop_analysis.behaviours import (
    actions,
    communication,
    efficiency,
    error_recovery,
    exploration,
    integrity,
    planning,
    tool_discipline,
    verification,
)
from benchloop_analysis.behaviours.acts import Act
from benchloop_analysis.behaviours.catalogue import CATALOGUE, CATALOGUE_VERSION
from benchloop_analysis.behaviours.records import Category, Features
from benchloop_analysis.behaviours.view import Found, Run, Seen, View
from benchloop_analysis.case import Case

#: Numbers of steps of the agent after which a run is looked at as well.
LANDMARKS = (4, 8, 16, 32, 64, 128)
#: Steps that are kept of one behaviour.
MOST_STEPS = 5

_MODULES: dict[Category, ModuleType] = {
    "exploration": exploration,
    "planning": planning,
    "verification": verification,
    "error_recovery": error_recovery,
    "tool_discipline": tool_discipline,
    "efficiency": efficiency,
    "communication": communication,
    "integrity": integrity,
}
#: What looks for each behaviour, in the order of the catalogue: the function of its name in the module of its category.
SEEN: tuple[Seen, ...] = tuple(getattr(_MODULES[behaviour.category], behaviour.name) for behaviour in CATALOGUE)
_LATER: tuple[Seen | None, ...] = tuple(
    None if behaviour.timing == "terminal" else seen for behaviour, seen in zip(CATALOGUE, SEEN, strict=True)
)


def observe(case: Case) -> Features:
    """What is seen of the behaviours in a job, the same for the same job. Of a job without steps of an agent nothing applies."""
    run = Run(case)
    if not run.acts:
        return Features(version=CATALOGUE_VERSION, values=(None,) * len(CATALOGUE), steps=((),) * len(CATALOGUE))
    whole = run.view()
    found = [seen(whole) for seen in SEEN]
    signs, steps, is_whole = actions.row_of(run.acts)
    return Features(
        version=CATALOGUE_VERSION,
        values=tuple(map(_value, found)),
        steps=tuple(_steps(one.shown) if one is not None else () for one in found),
        landmarks={turns: _landmark(run.view(turns)) for turns in LANDMARKS if turns < run.turns},
        n_steps=run.turns,
        actions=signs,
        action_steps=steps,
        actions_whole=is_whole,
    )


def _landmark(view: View) -> tuple[float | None, ...]:
    return tuple(None if seen is None else _value(seen(view)) for seen in _LATER)


def _value(found: Found | None) -> float | None:
    return None if found is None else found.value


def _steps(shown: Sequence[Act]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(act.event.step_id for act in shown[: 4 * MOST_STEPS]))[:MOST_STEPS]
