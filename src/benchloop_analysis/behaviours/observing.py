"""Looks for every behaviour of the catalogue in one job, as a whole and in its first steps."""

from __future__ import annotations

from benchloop_analysis.behaviours import actions
from benchloop_analysis.behaviours.catalogue import CATALOGUE, CATALOGUE_VERSION
from benchloop_analysis.behaviours.records import Features
from benchloop_analysis.case import Case

#: Numbers of steps of the agent after which a run is looked at as well.
LANDMARKS = (4, 8, 16, 32, 64, 128)


def observe(case: Case) -> Features:
    """What is seen of the behaviours in a job, the same for the same job. Of a job without a trajectory nothing applies."""
    signs, steps, whole = actions.row_of(case.agent_events)
    return Features(
        version=CATALOGUE_VERSION,
        values=(None,) * len(CATALOGUE),
        steps=((),) * len(CATALOGUE),
        n_steps=case.trajectory.n_agent_steps,
        actions=signs,
        action_steps=steps,
        actions_whole=whole,
    )
