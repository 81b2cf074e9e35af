"""Cochran and Armitage's trend of a share over training steps, compared within each task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchloop_analysis.statistics.permutation import normal_p, score
from benchloop_analysis.statistics.strata import Floats, Strata


@dataclass(frozen=True)
class Trend:
    """`per_step` is the change of the share from one step to the next within a task; `p` two-sided."""

    p: float | None
    per_step: float | None


def trend(shown: Floats, step: Floats, strata: Strata) -> Trend:
    """The trend of `shown` (shares or 0 and 1) over `step` within strata; both None where no stratum has two different steps."""
    centred = strata.centred(step)
    below = float((centred**2).sum())
    if below <= 0:
        return Trend(None, None)
    found = score(centred, shown, strata)
    return Trend(normal_p(found), float(found.total / below))


def unstratified(shown: Floats, step: Floats) -> Trend:
    """The same without regard to tasks."""
    return trend(shown, step, Strata.of(np.zeros(len(shown), dtype=np.int64)))
