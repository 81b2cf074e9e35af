"""The table keeps what jobs did in arrays, and fills in what only siblings tell."""

from __future__ import annotations

import numpy as np
import pytest

from benchloop_analysis.behaviours import CATALOGUE
from benchloop_analysis.behaviours.records import Features
from benchloop_analysis.brm.table import Observed, TableBuilder, relative_length
from tests.unit.analysis.brm import planted


def test_what_does_not_apply_is_not_a_number_and_invalid_is_not_compared() -> None:
    found = planted.table(
        [
            planted.job("a", "t", 1.0, (1.0, None, 0.5, 0.0, 0.0), landmarks={4: (1.0, None, None, None, None)}),
            planted.job("b", "t", float("inf"), (0.0, 1.0, None, 0.0, 0.0)),
            planted.job("d", "t", None, (0.0, 1.0, None, 0.0, 0.0)),
            planted.job("c", "u", 1.0, (0.0, 1.0, None, 0.0, 0.0), reward_valid=False),
        ]
    )
    assert np.isnan(found.values[0, 1]) and found.values[0, 2] == 0.5
    assert list(found.valid) == [True, False, False, False]
    assert list(found.stratum) == [0, 0, 0, 1]
    assert list(found.landmarks[4].rows) == [0]


def test_strata_are_task_agent_model_and_step() -> None:
    jobs = [
        planted.job(str(place), "t", 0.0, (0.0,) * 5, agent=agent, step=step)
        for place, (agent, step) in enumerate([("a", 1), ("a", 2), ("b", 1)])
    ]
    assert len(set(planted.table(jobs).stratum)) == 3
    assert planted.table(jobs).parts == ("a · m", "b · m")


def test_relative_length_is_against_the_median_of_siblings() -> None:
    found = relative_length(np.array([10, 20, 30, 7, 5, 0, 0]), np.array([0, 0, 0, 1, 2, 3, 3]))
    assert found[:3] == pytest.approx([0.5, 1.0, 1.5])
    assert np.isnan(found[3:]).all()
    place = [behaviour.name for behaviour in CATALOGUE].index("relative_length")
    builder = TableBuilder()
    for name, length in (("a", 4), ("b", 12)):
        features = Features(version="1", values=(None,) * len(CATALOGUE), steps=((),) * len(CATALOGUE), n_steps=length)
        builder.add(Observed(name, "t", None, None, None, 1.0, None, features))
    assert list(builder.build().values[:, place]) == [0.5, 1.5]


def test_another_catalogue_is_refused() -> None:
    with pytest.raises(ValueError, match="3 behaviours, the catalogue 5"):
        planted.table([planted.job("a", "t", 1.0, (1.0, 0.0, 0.0))])


def test_an_empty_table_is_one() -> None:
    assert len(planted.table([])) == 0
