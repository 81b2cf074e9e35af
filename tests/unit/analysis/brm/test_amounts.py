"""Plain amounts: what is counted, what is unknown, and that they mislead when pooled only."""

from __future__ import annotations

import numpy as np

from benchloop_analysis.behaviours import CATALOGUE
from benchloop_analysis.behaviours.actions import MOST_ACTIONS
from benchloop_analysis.behaviours.records import Features
from benchloop_analysis.brm.amounts import amounts
from benchloop_analysis.brm.study import Options, study
from benchloop_analysis.brm.table import Observed, Table, TableBuilder


def _table(*rows: tuple[str, int], tasks: int = 1) -> Table:
    """A job for each row of actions and number of steps."""
    builder = TableBuilder()
    nothing = (None,) * len(CATALOGUE)
    for place, (actions, n_steps) in enumerate(rows):
        features = Features(version="1", values=nothing, steps=((),) * len(CATALOGUE), landmarks={}, n_steps=n_steps, actions=actions)
        task = f"T{place % tasks}"
        builder.add(
            Observed(
                job_id=f"J{place}",
                task_id=task,
                agent="a",
                model="m",
                step=None,
                reward=float(place % 2),
                reward_valid=True,
                features=features,
                weight=1.0,
            )
        )
    return builder.build()


def _values(table: Table) -> dict[str, list[float]]:
    return {column.behaviour.name: column.values.tolist() for column in amounts(table)}


def test_calls_are_counted_by_kind_with_those_that_failed() -> None:
    found = _values(_table(("rrRe", 4), ("mx", 9)))
    assert found["number_of_steps"] == [4, 9]
    assert found["number_of_read_calls"] == [3, 0]
    assert found["number_of_failed_calls"] == [1, 0]
    assert found["number_of_messages"] == [0, 1]


def test_what_never_differs_is_no_column() -> None:
    assert set(_values(_table(("r", 3), ("r", 4)))) == {"number_of_steps"}


def test_a_kind_of_call_that_hardly_any_job_has_is_no_column() -> None:
    rows = [("r" * (1 + place % 2), 3) for place in range(40)]
    rows[0] = ("rd", 3)
    assert set(_values(_table(*rows))) == {"number_of_read_calls"}


def test_calls_of_a_row_that_was_cut_are_unknown() -> None:
    found = _values(_table(("r" * MOST_ACTIONS, 2_000), ("r", 1), ("rr", 2)))
    assert np.isnan(found["number_of_read_calls"][0])
    assert found["number_of_steps"][0] == 2_000


def test_an_amount_that_follows_the_task_is_significant_pooled_only() -> None:
    """Hard tasks take many steps and are failed; within a task steps say nothing."""
    random = np.random.default_rng(3)
    builder = TableBuilder()
    nothing = (None,) * len(CATALOGUE)
    for task in range(60):
        for attempt in range(4):
            steps = 10 + task + int(random.integers(0, 5))
            passed = float(random.random() < 1 - task / 60)
            features = Features(version="1", values=nothing, steps=((),) * len(CATALOGUE), landmarks={}, n_steps=steps, actions="")
            builder.add(
                Observed(
                    job_id=f"J{task}-{attempt}",
                    task_id=f"T{task}",
                    agent="a",
                    model="m",
                    step=None,
                    reward=passed,
                    reward_valid=True,
                    features=features,
                    weight=1.0,
                )
            )
    found = study(builder.build(), Options(resamples=100))
    one = next(one for one in found.behavior_patterns if one.name == "number_of_steps")
    assert one.pooled_p is not None and one.pooled_p < 1e-6
    assert one.status == "no_evidence"
    assert one.kind == "amount" and one.category == "amount"
    assert not any(coefficient.id == one.id for coefficient in found.model.coefficients)
    assert "amount" not in {score.category for score in found.category_scores}
