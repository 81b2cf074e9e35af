"""Several answers of a model: what enough of them share counts, and no more is asked than is needed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchloop_analysis.judge import Answer, Question
from benchloop_analysis.judge_vote import Votes, consult
from benchloop_analysis.ruleset import default
from tests.unit.analysis.made import facts
from tests.unit.analysis.test_judge import LABEL, answer, unsure

OTHER = answer(name="agent_process/gave_up")
YES, NO, BAD = answer(), {"label": "abstain", "says": "", "quotes": []}, "nonsense"


class Script:
    """A judge that answers by a list, each answer for a cent; None: the budget is used up."""

    model = "judge-1"

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Answer | None:
        """The next answer."""
        self.asked.append(question)
        said = self._answers.pop(0)
        return None if said is None else Answer(text=said if isinstance(said, str) else json.dumps(said), cost_usd=0.01)


@pytest.mark.parametrize(
    ("answers", "asked", "status", "label"),
    [
        ((YES, YES), 2, "refined", LABEL),
        ((YES, OTHER, YES), 3, "refined", LABEL),
        ((OTHER, BAD, OTHER), 3, "refined", "agent_process/gave_up"),
        ((YES, NO, OTHER), 3, "abstained", None),
        ((NO, NO), 2, "abstained", None),
        ((BAD, BAD), 2, "refused", None),
    ],
)
def test_two_of_three_have_to_agree(answers: tuple[Any, ...], asked: int, status: str, label: str | None) -> None:
    judge = Script(*answers)
    found = consult(unsure(), facts(), default(), judge=judge, votes=Votes())
    assert found is not None and found.opinion is not None
    assert (len(judge.asked), found.opinion.status, found.opinion.label) == (asked, status, label)
    assert sum(found.opinion.votes.values()) == asked and found.paid_usd == pytest.approx(0.01 * asked)
    assert (status == "refined") == bool(found.opinion.evidence)


def test_each_answer_has_a_name_of_its_own() -> None:
    judge = Script(YES, NO, YES)
    consult(unsure(), facts(), default(), judge=judge, votes=Votes())
    assert len({one.key for one in judge.asked}) == 3 and [one.sample for one in judge.asked] == [0, 1, 2]
    assert len({one.messages for one in judge.asked}) == 1


def test_a_budget_that_ends_in_the_middle_gives_no_opinion_and_tells_the_cost() -> None:
    found = consult(unsure(), facts(), default(), judge=Script(YES, None), votes=Votes())
    assert found is not None and found.opinion is None and found.paid_usd == pytest.approx(0.01)


def test_one_answer_may_be_enough() -> None:
    judge = Script(YES)
    found = consult(unsure(), facts(), default(), judge=judge, votes=Votes(samples=1, agree=1))
    assert found is not None and found.opinion is not None and found.opinion.label == LABEL


def test_nobody_is_asked_about_what_is_sure() -> None:
    assert consult(unsure(tier="A"), facts(), default(), judge=Script(), votes=Votes()) is None


@pytest.mark.parametrize(("samples", "agree"), [(0, 0), (2, 3), (3, 0), (10, 2)])
def test_votes_that_cannot_be(samples: int, agree: int) -> None:
    with pytest.raises(ValueError, match="answers are 1 to 9"):
        Votes(samples=samples, agree=agree)
