"""How much was done: steps, failed calls, and calls of each kind. What people correlate with reward first, and what misleads them most.

A hard task takes more steps and more calls whatever the agent is like. So these stand beside the catalogue with both comparisons, pooled
and within the task; they are no practice to keep to, and in neither the model nor the categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchloop_analysis.behaviours import ACTIONS
from benchloop_analysis.behaviours.actions import MOST_ACTIONS
from benchloop_analysis.behaviours.records import Behaviour
from benchloop_analysis.brm.columns import Column
from benchloop_analysis.brm.records import AMOUNT
from benchloop_analysis.brm.table import Table

#: A kind of call is counted where this share of jobs has one.
SUPPORT = 0.05
_FAILED = "_fail"
_ENDINGS = (_FAILED, "_ok")


def amounts(table: Table) -> list[Column]:
    """A column for each amount that differs between jobs. Calls of a row of actions that was cut are unknown, not fewer."""
    found = [_column("steps", "Steps that the agent took.", table.n_steps.astype(np.float32))]
    for name, signs, definition in _counted():
        found.append(_column(name, definition, _counts(table.actions, signs)))
    return [column for column in found if _differs(column.values)]


def _counted() -> Iterator[tuple[str, str, str]]:
    """Name, signs of the actions that count, and what it is."""
    failed = "".join(sign for sign, name in ACTIONS.items() if name.endswith(_FAILED))
    yield "failed_calls", failed, "Calls whose result shows that they failed."
    for kind in dict.fromkeys(_kind(name) for name in ACTIONS.values()):
        signs = "".join(sign for sign, name in ACTIONS.items() if _kind(name) == kind)
        what = "Messages without a call." if kind == "message" else f"Calls of the kind “{kind}”, failed ones included."
        yield f"{kind}_calls" if kind != "message" else "messages", signs, what


def _kind(name: str) -> str:
    return next((name[: -len(ending)] for ending in _ENDINGS if name.endswith(ending)), name)


def _counts(rows: Iterable[str], signs: str) -> NDArray[np.float32]:
    return np.fromiter((np.nan if len(row) >= MOST_ACTIONS else sum(map(row.count, signs)) for row in rows), dtype=np.float32)


def _differs(values: NDArray[np.float32]) -> bool:
    known = values[~np.isnan(values)]
    return bool(len(known)) and float(np.ptp(known)) > 0 and float((known > 0).mean()) >= SUPPORT


def _column(name: str, definition: str, values: NDArray[np.float32]) -> Column:
    behaviour = Behaviour(
        id=f"N-{name}",
        name=f"number_of_{name}",
        category=AMOUNT,
        kind="ratio",
        timing="any",
        prior=0,
        definition=definition,
        applies=None,
        scored=True,
    )
    return Column(behaviour, values, kind="amount")
