"""Each rule fires where it should, stays silent where nothing is wrong or the agent got over it, and quotes what stands there."""

from __future__ import annotations

import pytest

from benchloop_analysis import ruleset
from benchloop_analysis.evidence import is_verbatim
from benchloop_analysis.records import JobInput
from tests.unit.analysis.rule_cases import ALL, firing, silent
from tests.unit.analysis.small import fired


def _name(case: tuple[str, int, JobInput]) -> str:
    return f"{case[0]}-{case[1]}"


@pytest.mark.parametrize("case", list(firing()), ids=_name)
def test_it_fires_and_quotes(case: tuple[str, int, JobInput]) -> None:
    rule, _, given = case
    labels = fired(given)
    assert rule in labels
    assert labels[rule].evidence
    assert all(is_verbatim(one, given) for one in labels[rule].evidence)
    assert "…" not in labels[rule].says


@pytest.mark.parametrize("case", list(silent()), ids=_name)
def test_it_does_not_fire(case: tuple[str, int, JobInput]) -> None:
    rule, _, given = case
    assert rule not in fired(given)


def test_every_rule_has_its_cases() -> None:
    assert {bound.rule.id for bound in ruleset.default().rules} == set(ALL)
